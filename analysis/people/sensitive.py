"""Marks attributes on what the law protects most, by rule: health, religion, origin, politics, sex.

A mark says that the words may touch it, so that a person looks; the rules read English.
"""

import re

LIMB = "leg|arm|hand|foot|finger|toe|eye|ear|breast|kidney|lung"
ACHES = (
    f"back|neck|head|tooth|stomach|belly|chest|heart|knee|hip|joint|muscle|shoulder|wrist|ankle|elbow|spine|skin|{LIMB}"
)
# Matched for people only: a German user, not a German car.
DEMONYMS = r"""
    afghan | albanian | algerian | american | argentin\w+ | armenian | australian | austrian | azerbaijani |
    bangladeshi | belarusian | belgian | bolivian | bosnian | brazilian | british | brit | bulgarian | cambodian |
    cameroonian | canadian | chilean | chinese | colombian | congolese | croat(ian)? | cuban | cypriot | czech |
    danish | dane | dutch | ecuadorian | egyptian | english(wo)?man | eritrean | estonian | ethiopian | filipin[oa] |
    finn(ish)? | french(wo)?man | french | georgian | german | ghanaian | greek | guatemalan | haitian | honduran |
    hungarian | icelandic | indian | indonesian | irani(an)? | iraqi | irish(wo)?man | irish | israeli | italian |
    jamaican | japanese | jordanian | kazakh | kenyan | korean | kurd(ish)? | kuwaiti | latvian | lebanese | libyan |
    lithuanian | malaysian | maltese | mexican | moldovan | mongolian | moroccan | nepal(i|ese) | new\ zealander |
    nicaraguan | nigerian | norwegian | pakistani | palestinian | panamanian | paraguayan | persian | peruvian |
    polish | pole | portuguese | romanian | russian | rwandan | salvadoran | saudi | scot(tish)? | senegalese |
    serb(ian)? | singaporean | slovak(ian)? | sloven(e|ian) | somali | south\ african | spanish | spaniard |
    sri\ lankan | sudanese | swed(e|ish) | swiss | syrian | taiwanese | tanzanian | thai | tibetan | tunisian |
    turk(ish)? | ugandan | ukrainian | uruguayan | uzbek | venezuelan | vietnamese | welsh(wo)?man | welsh | yemeni |
    zambian | zimbabwean
"""
COUNTRIES = r"""
    afghanistan | albania | algeria | argentina | armenia | australia | austria | azerbaijan | bangladesh | belarus |
    belgium | bolivia | bosnia | brazil | britain | bulgaria | cambodia | cameroon | canada | chile | china | colombia |
    congo | costa\ rica | croatia | cuba | cyprus | czechia | czech\ republic | denmark | dominican\ republic |
    ecuador | egypt | el\ salvador | england | eritrea | estonia | ethiopia | finland | france | germany | ghana |
    greece | guatemala | haiti | honduras | hong\ kong | hungary | iceland | india | indonesia | iran | iraq | ireland |
    israel | italy | ivory\ coast | jamaica | japan | kazakhstan | kenya | korea | kosovo | kuwait | latvia | lebanon |
    libya | lithuania | malaysia | malta | mexico | moldova | mongolia | morocco | myanmar | nepal | netherlands |
    new\ zealand | nicaragua | nigeria | norway | pakistan | palestine | panama | paraguay | peru | philippines |
    poland | portugal | puerto\ rico | romania | russia | rwanda | saudi\ arabia | scotland | senegal | serbia |
    singapore | slovakia | slovenia | somalia | south\ africa | spain | sri\ lanka | sudan | sweden | switzerland |
    syria | taiwan | tanzania | thailand | tibet | tunisia | turkey | türkiye | uganda | ukraine |
    united\ (states|kingdom|arab) | uruguay | uzbekistan | venezuela | vietnam | wales | yemen | zambia | zimbabwe
"""
WORDS = {
    "health": r"""
        (un)?health(y|ier)? | ill(ness(es)?)? | sick(ness)? | diseases? | disorders? | disab(led|ilit(y|ies)) |
        diagnos\w+ | symptoms? | patients? | medical | medications? | medicines? | prescri\w+ | therapy |
        my\ (doctor|therapist)s? | psychos\w+ | psychother\w+ | surger(y|ies) | hospitali[sz]ed | psychiatr\w+ |
        pregnan\w+ | fertility | miscarriages? | abortions? | allerg\w+ | asthma\w* | diabet\w+ | cancers? |
        tumou?rs? | chemo\w* | hiv | aids | covid\w* | adhd | autis\w+ | bipolar | depress\w+ | anxi(ety|ous) |
        ptsd | trauma\w* | ocd | dementia | alzheimer\w* | epilep\w+ | stroke |
        heart\ (attack|condition|problem|surgery|disease)s? | blood\ pressure | transplant\w* | amput\w+ |
        broken\ (arm|leg|bones?) | wheelchairs? | blind(ness)?(?!\ dates?) | deaf(ness)? | addict\w+ | alcoholi\w+ |
        rehab\w* | sober | suicid\w+ | self-harm\w* | eating\ disorders? | anorexi\w+ | bulimi\w+ | obes\w+ |
        overweight | migraines? | insomnia | psoriasis | arthritis | chronic\w* | mental(ly)? | hepatitis |
        infect\w+ | vaccin\w+ | injur\w+ | fractur\w+ | sprain\w* | concussions? | wounded | pains? | painful |
        (ACHES)s?\W?(aches?|hurts?|problems?|issues?|condition|trouble) | (head|tooth|back|stomach)aches? |
        hurts?\ (me|when|a\ lot|daily) | (broke|breaking|break)\ (a|my|his|her|their|an)\ (bone|hip|rib|nose|(LIMB)) |
        (one|lost|losing|missing|without|prosthetic|artificial)\ (a|an|my|his|her|their|one)?\ ?(LIMB)s? |
        prosthe\w+ | hearing\ aids? | colou?r-?\ ?blind\w* | near-?sighted | paraly\w+ | born\ with(out)? | webbed |
        birth\ defects? | dyslex\w+ | dyspraxi\w+ | stutter\w* | stammer\w* | lisp | tourette\w* | seizures? |
        intoleran\w+ | celiac | coeliac | digesti\w+ | bloat\w+ | nausea\w* | dizz\w+ | fever\w* | fatigue\w* |
        ((get|gets|always|constantly|often|feel|feels)\ )(so\ |very\ )?tired | exhausted | burn(t|ed)?-?\ ?out |
        thyroid | cholesterol | hypertens\w+ | heart\ (failure|rate) | pacemaker | insulin | dialysis | lupus |
        fibromyalgia | endometriosis | menopaus\w+ | parkinson\w* | multiple\ sclerosis | eczema | acne | rash(es)? |
        dermatitis | physiotherap(y|ist) | inhaler | antidepressants? | side\ effects? | bmi | underweight |
        (gain(ed|ing)?|los(e|ing|t)|my|her|his|their)\ weight | expecting\ (a\ (baby|child)|twins|triplets|our|my) |
        (used\ to|stopped|quit|gave\ up)\ (drink(ing)?|smok(e|ing)|drugs) | panic\ attacks? | self-?esteem |
        phobia\w* | grief | (un)?medicated
    """,
    "religion": r"""
        religio\w+ | faith | pray\w* | god | jesus | christian\w* | christ | church\w* | bible | biblical | gospel |
        catholic\w* | protestant\w* | orthodox | evangelical\w* | baptist\w* | mormon\w* | muslim\w* | islam\w* |
        qur'?an\w* | koran | mosques? | ramadan | hijab | jew(s|ish|ess)? | judaism | synagogues? | torah | kosher |
        halal | hindu\w* | buddhis\w+ | sikh\w* | atheis\w+ | agnostic\w* | spiritual\w* | pagan\w* | wicca\w* |
        sabbath | shabbat | ramadan | diwali | bar\ mitzvah | missionar\w+ | sermons? | parish\w* | hymns? | psalms? |
        monks? | nuns? | devout | priests? | pastors? | imams? | rabbis? | temples? | worship\w* | baptis\w+ |
        theolog\w+
    """,
    "origin": r"""
        ethnic\w* | racial\w* | heritage | ancest\w+ | descent | immigra\w+ | emigra\w+ | migra(nt|ted|tion)\w* |
        refugees? | asylum | nationality | citizen(s|ship)? | native\ (of|american)\w* | indigenous | aborigin\w+ |
        people\ of\ colou?r | biracial | african\w* | asians? | asian-\w+ | caucasian\w* | latin[oax]s? |
        hispanic\w* | roma | gypsy | arab(s|ic)? | black\ (man|woman|person|people|american|family|user) |
        white\ (man|woman|person|people|american|family) | born\ in(?!\ (the\b|a\b|\d)) |
        (comes?|came|is|are|am|originally|family|moved\ here)\ from(?!\ (a|the)\b) | moved\ to\ this\ country |
        mother\ tongue | native\ (language|speaker) | mixed(\ |-)race |
        (light|dark|brown|black|fair)-?\ skin\w* |
        (from|born\ in|grew\ up\ in|raised\ in|roots\ in|now\ lives?\ in|now\ i\ live\ in)\ (the\ )?(COUNTRIES) |
        ((KIN)\ (am|is|are|was|were)|i'm|he's|she's|we're|they're|being)
          \ (an?\ |a\ proud\ |proud\ |half\ |part\ |originally\ )?(DEMONYMS)(?!\ (dancer|teacher|student|major))
    """,
    "politics": r"""
        politic\w+ | vot(e|es|ed|er|ers|ing) | elections? | electoral | democrats? | republicans? | conservatives? |
        liberals? | leftist\w* | left-wing | right-wing | socialis\w+ | communis\w+ | marxis\w+ | fascis\w+ |
        anarchis\w+ | libertarian\w* | nationalis\w+ | feminis\w+ | activis\w+ | environmentalis\w+ |
        protest(s|ed|er|ers|ing)? | trump\w* | biden | obama | putin | brexit | abortion\ rights |
        gun\ (control|rights) | (trade|labou?r)\ union\w* | union\ member\w* | governments? | partisan\w* |
        propaganda | pro-(life|choice) | lobby\w* | climate\ (change|crisis|policy|justice|movement|protection) |
        environmental\ (cause|issue|protection|justice|movement|policy)s? | (about|for|save)\ the\ environment |
        advocate\w* | campaign(s|ed|er|ing)?\ (for|against) | human\ rights | civil\ rights | welfare\ state |
        immigration\ (policy|law)s? | police\ reform
    """,
    "sex": r"""
        sex(es|ual|uality|ually|y|t\w+)? | gay | lesbian\w* | bisexual\w* | homosexual\w* | heterosexual\w* |
        transgender\w* | trans\ (man|woman|boy|girl|male|female|kid|teen|person|people)\w* |
        transition(ed|ing)\ gender | same-sex | (in|out\ of)\ the\ closet | open\ (relationship|marriage) |
        virgin(ity)? | libido | non-?binary | queer | lgbt\w* | asexual\w* |
        pansexual\w* | polyamor\w+ | omegaverse | erotic\w* | porn\w* | nsfw | fetish\w* | kink\w* | bdsm |
        orgasm\w* | masturbat\w+ | prostitut\w+ | genders? | gender\ identity | sexual\ orientation | coming\ out
    """,
}
KIN = r"i|we|he|she|they|user|person|(my|the\ user's|his|her)\ \w+"
LISTS = {"KIN": KIN, "LIMB": LIMB, "ACHES": ACHES, "DEMONYMS": DEMONYMS, "COUNTRIES": COUNTRIES}


def _compile(words: str) -> re.Pattern[str]:
    for name, listed in LISTS.items():
        words = words.replace(f"({name})", f"({listed})")
    return re.compile(rf"\b(?:{words})(?!\w)", re.IGNORECASE | re.VERBOSE)


RULES = {name: _compile(words) for name, words in WORDS.items()}
KINDS = tuple(RULES)


def mark_sensitive(text: str) -> list[str]:
    """The KINDS that the words may touch."""
    return [name for name, rule in RULES.items() if rule.search(text)]
