"""Recommendations in our own words: what the example shows, the text, and the items a careful person reads."""

FILMS = ["heat", "alien", "fargo", "amélie", "up"]

ITEMS = [
    ("numbers with a full stop", "1. Heat\n2. Alien\n3. Fargo\n4. Amélie\n5. Up", FILMS),
    ("numbers with a bracket", "1) Heat\n2) Alien\n3) Fargo\n4) Amélie\n5) Up", FILMS),
    ("numbers in brackets", "(1) Heat\n(2) Alien\n(3) Fargo\n(4) Amélie\n(5) Up", FILMS),
    ("a number sign", "#1 – Heat\n#2 – Alien\n#3 – Fargo\n#4 – Amélie\n#5 – Up", FILMS),
    ("numbers with a dash", "1- Heat\n2- Alien\n3- Fargo\n4- Amélie\n5- Up", FILMS),
    ("numbers and spaced dashes", "1 - Heat\n2 - Alien\n3 - Fargo\n4 - Amélie\n5 - Up", FILMS),
    (
        "a full stop forgotten",
        "1. Heat – Mann\n2 Alien – Scott\n3. Fargo – Coen\n4. Amélie – Jeunet\n5. Up – Docter",
        FILMS,
    ),
    ("numbers without a mark", "My films:\n1 Heat\n2 Alien (1979)\n3 Fargo\n4 Amélie\n5 Up\nEnjoy!", FILMS),
    ("number signs without a mark", "#1 Heat\n#2 Alien\n#3 Fargo\n#4 Amélie\n#5 Up", FILMS),
    ("full-width marks", "1．Heat\n2．Alien\n3．Fargo\n4．Amélie\n5．Up", FILMS),
    ("full-width brackets", "（1）Heat\n（2）Alien\n（3）Fargo\n（4）Amélie\n（5）Up", FILMS),
    ("marks of direction", "\u202b1. Heat\u202c\n\u20672. Alien\u2069\n\u202b3. Fargo\u202c", FILMS[:3]),
    (
        "names that begin with a number",
        "- 7-Eleven\n- 5 Guys\n- **24-Hour Fitness**",
        ["7-eleven", "5 guys", "24-hour fitness"],
    ),
    ("names that end with a sign", "1. C\n2. C++\n3. C#", ["c", "c++", "c#"]),
    ("ingredients", "1 cup oats\n2 Eggs\n3 Bananas", []),
    ("all in one line", "1. Heat 2. Alien 3. Fargo 4. Amélie 5. Up", FILMS),
    ("one line, brackets, no spaces", "1) Heat2) Alien3) Fargo4) Amélie5) Up", FILMS),
    (
        "one line with reasons",
        "1. Heat - a chase. 2. Alien - a ship. 3. Fargo - snow. 4. Amélie - Paris. 5. Up - balloons.",
        FILMS,
    ),
    ("counting down", "5. Heat\n4. Alien\n3. Fargo\n2. Amélie\n1. Up", FILMS),
    (
        "numbers that start again below",
        "1. Heat\n   1. robbery\n   2. chase\n2. Alien\n3. Fargo\n4. Amélie\n5. Up",
        FILMS,
    ),
    (
        "a reason on the line below",
        "1. Heat\nA chase through a city.\n\n2. Alien\nA ship, a cat.\n\n3. Fargo\nSnow.",
        FILMS[:3],
    ),
    (
        "firms with suffixes",
        "1) Tesla, Inc. – electric cars\n2) Apple Inc. – phones\n3) Google LLC – search",
        ["tesla", "apple", "google"],
    ),
    ("years in brackets", "1. Heat (1995)\n2. Alien (1979) – space\n3. Fargo (1996): snow", FILMS[:3]),
    (
        "directors in brackets",
        "1. **Heat** (Michael Mann)\n2. **Alien** (Ridley Scott)\n3. **Up** (Docter, Peterson)",
        ["heat", "alien", "up"],
    ),
    ("six where five were asked", "1. Heat\n2. Alien\n3. Fargo\n4. Amélie\n5. Up\n6. Jaws", FILMS),
    ("three where five were asked", "Here are five:\n1. Heat\n2. Alien\n3. Fargo", FILMS[:3]),
    ("the same one twice", "1. Heat\n2. HEAT (1995)\n3. Alien", FILMS[:2]),
    ("a bonus after the list", "1. Heat\n2. Alien\n3. Fargo\n4. Amélie\n5. Up\n\nBonus: Jaws", FILMS),
    ("an honourable mention", "1. Heat\n2. Alien\n3. Fargo\n\n**Honourable mention:** Jaws", FILMS[:3]),
    ("a title that is a number", "1. 1917\n2. 300\n3. 2001: A Space Odyssey", ["1917", "300", "2001: a space odyssey"]),
    ("numbers as words of the title", "1. Ocean's 11\n2. Apollo 13\n3. Se7en", ["ocean's 11", "apollo 13", "se7en"]),
    ("hyphens", "- Heat\n- Alien\n- Fargo\n- Amélie\n- Up", FILMS),
    ("stars", "* Heat\n* Alien\n* Fargo\n* Amélie\n* Up", FILMS),
    ("hyphens without a space", "-Heat\n-Alien\n-Fargo\n-Amélie\n-Up", FILMS),
    ("dots", "• Heat\n• Alien\n• Fargo\n• Amélie\n• Up", FILMS),
    ("picture bullets", "🎬 Heat\n👽 Alien\n❄️ Fargo\n🗼 Amélie\n🎈 Up", FILMS),
    ("ticks", "✅ Heat\n✅ Alien\n✅ Fargo\n✅ Amélie\n✅ Up", FILMS),
    ("bold and colon", "- **Heat:** a chase\n- **Alien:** a ship\n- **Fargo:** snow", FILMS[:3]),
    ("bold, then colon", "- **Heat**: a chase\n- **Alien**: a ship\n- **Fargo**: snow", FILMS[:3]),
    ("italics", "- *Heat* is about a chase.\n- *Alien* is about a ship.\n- *Fargo* is about snow.", FILMS[:3]),
    ("bold and italics", "1. ***Heat***\n2. ***Alien***\n3. ***Fargo***", FILMS[:3]),
    ("quotes", '- "Heat" (a chase)\n- "Alien" (a ship)\n- “Fargo” – snow', FILMS[:3]),
    (
        "inner bullets",
        "- Heat\n  - Year: 1995\n  - Director: Mann\n- Alien\n  - Year: 1979\n  - Director: Scott",
        FILMS[:2],
    ),
    ("labels below", "**Heat**\n- Why: a chase\n- Mood: tense\n\n**Alien**\n- Why: a ship\n- Mood: dark", FILMS[:2]),
    (
        "a reason after a comma",
        ("- Heat, which is a long chase through a big city\n- Alien, where a ship meets something it should not"),
        FILMS[:2],
    ),
    (
        "a sentence after a full stop",
        "• Fried egg. Put it into a pan with some butter.\n• Omelette. Whisk the egg with some milk first.",
        ["fried egg", "omelette"],
    ),
    (
        "a name that goes on as a sentence",
        "- The Sidecar is a classic drink made with brandy.\n- The Bramble is a gin drink with berries.",
        ["sidecar", "bramble"],
    ),
    ("headings", "## Heat\nA chase.\n\n## Alien\nA ship.\n\n## Fargo\nSnow.", FILMS[:3]),
    ("headings with numbers", "### 1. Heat\nA chase.\n### 2. Alien\nA ship.\n### 3. Fargo\nSnow.", FILMS[:3]),
    ("a heading over the list", "## Five films for you\n\n1. Heat\n2. Alien\n3. Fargo\n\n## Enjoy!", FILMS[:3]),
    ("groups with headings", "## Crime\n- Heat\n- Fargo\n\n## Space\n- Alien", ["heat", "fargo", "alien"]),
    ("groups with bold lines", "**Crime**\n1. Heat\n2. Fargo\n\n**Space**\n3. Alien", ["heat", "fargo", "alien"]),
    ("bold lines", "**Heat**\nA chase through a city.\n\n**Alien**\nA ship.\n\n**Fargo**\nSnow.", FILMS[:3]),
    ("a table", "| Film | Year |\n| --- | --- |\n| Heat | 1995 |\n| Alien | 1979 |\n| Fargo | 1996 |", FILMS[:3]),
    ("a table with ranks", "Rank | Film\n--- | ---\n1 | Heat\n2 | Alien\n3 | Fargo", FILMS[:3]),
    (
        "a table with bold names",
        "| No. | Film | Why |\n|:-:|:--|:--|\n| 1. | **Heat** | chase |\n| 2. | **Alien** | ship |",
        FILMS[:2],
    ),
    (
        "a table copied with tabs",
        "Film\tYear\tDirector\nHeat\t1995\tMann\nAlien\t1979\tScott\nFargo\t1996\tCoen",
        FILMS[:3],
    ),
    ("bare lines", "Heat\nAlien\nFargo\nAmélie\nUp", FILMS),
    ("lines with reasons", "Heat: a chase\nAlien: a ship\nFargo: snow", FILMS[:3]),
    (
        "quoted paragraphs",
        '"Heat" is a long chase.\n\n"Alien" takes place on a ship.\n\n"Fargo" has a lot of snow.',
        FILMS[:3],
    ),
    (
        "paragraphs after an opening",
        "Here are some films:\n\nHeat - A chase through a big city.\n\nAlien - A ship and a cat.",
        FILMS[:2],
    ),
    (
        "song and artist",
        "1. Hurt – Johnny Cash\n2. Jolene – Dolly Parton\n3. Respect – Aretha Franklin",
        ["hurt", "jolene", "respect"],
    ),
    ("song by artist", '1. "Hurt" by Johnny Cash\n2. "Jolene" by Dolly Parton', ["hurt", "jolene"]),
    (
        "subtitle after a colon",
        "1. **Avatar: The Way of Water** – blue\n2. **Dune: Part Two** – sand",
        ["avatar: the way of water", "dune: part two"],
    ),
    (
        "subtitle before a colon with the reason",
        "1. Mad Max: Fury Road: a chase through the desert\n2. Mission: Impossible: Fallout: stunts that are real\n"
        "3. Avatar: The Way of Water: see it for the sea\n4. Heat: Crime: a bank is robbed\n5. Fargo: snow",
        ["mad max: fury road", "mission: impossible: fallout", "avatar: the way of water", "heat", "fargo"],
    ),
    (
        "hyphens in names",
        "- Spider-Man - a hero\n- X-Men - more heroes\n- WALL-E - a robot",
        ["spider-man", "x-men", "wall-e"],
    ),
    (
        "commas in names",
        "1. Lock, Stock and Two Smoking Barrels\n2. The Good, the Bad and the Ugly",
        ["lock, stock and two smoking barrels", "good, the bad and the ugly"],
    ),
    (
        "names with and",
        "I suggest these:\n- Dungeons & Dragons\n- Salt and Straw\n- Ben & Jerry's",
        ["dungeons & dragons", "salt and straw", "ben & jerry's"],
    ),
    ("exclamation in a name", "1. Yahoo! – search\n2. Airplane! – a comedy", ["yahoo", "airplane"]),
    ("prices", "1. Blue Hill ($$$) – farm food\n2. Katz's ($) – sandwiches", ["blue hill", "katz's"]),
    ("JSON", '{"items": ["Heat", "Alien", "Fargo"]}', FILMS[:3]),
    ("JSON in a fence", '```json\n{"items": ["Heat", "Alien"]}\n```', FILMS[:2]),
    ("a JSON list", '["Heat", "Alien", "Fargo"]', FILMS[:3]),
    ("JSON with another key", '{"movies": ["Heat", "Alien", "Fargo"]}', FILMS[:3]),
    ("JSON of objects", '[{"title": "Heat", "year": 1995}, {"title": "Alien", "year": 1979}]', FILMS[:2]),
    ("a citation above", "[[1]]\n1. Heat\n2. Alien\n3. Fargo", FILMS[:3]),
    ("a citation with its link above", "[[1]](https://example.org/films)\n- Heat\n- Alien\n- Fargo", FILMS[:3]),
    ("a word in two brackets above", "[[citation]]\n\n1. Heat\n2. Alien\n3. Fargo", FILMS[:3]),
    ("a link of a wiki above", "[[Film|Films]]\n1. Heat\n2. Alien\n3. Fargo", FILMS[:3]),
    ("a citation above sentences", "[[1]]\nI'd recommend Heat, Alien, and Fargo.", FILMS[:3]),
    ("citations behind the names", "1. Heat [[1]](https://example.org/1)\n2. Alien [[2]]\n3. Fargo [3]", FILMS[:3]),
    ("JSON without names above", '[["x"]]\n1. Heat\n2. Alien\n3. Fargo', FILMS[:3]),
    ("a list of one", "1. Heat", FILMS[:1]),
    ("a list of one with a reason", "1. **Heat** - a chase, by Michael Mann.", FILMS[:1]),
    ("one number before a sentence", "1. I recommend Heat, Alien, and Fargo.", FILMS[:3]),
    ("JSON after words", 'Here you are:\n```json\n{"items": ["Heat", "Alien"]}\n```', FILMS[:2]),
    ("a code fence", "```\n1. Heat\n2. Alien\n3. Fargo\n```", FILMS[:3]),
    ("HTML entities", "1. Ben &amp; Jerry&#39;s\n2. Marks &amp; Spencer", ["ben & jerry's", "marks & spencer"]),
    ("HTML list", "<ol><li>Heat</li><li>Alien</li><li>Fargo</li></ol>", FILMS[:3]),
    ("HTML bold and breaks", "<b>Heat</b> – a chase<br><b>Alien</b> – a ship<br><b>Fargo</b> – snow", FILMS[:3]),
    ("links", "1. [Heat](https://example.org/heat)\n2. [Alien](https://example.org/alien) – a ship", FILMS[:2]),
    ("a quoted reply", "> 1. Heat\n> 2. Alien\n> 3. Fargo", FILMS[:3]),
    ("end of turn marks", "1. Heat\n2. Alien<|im_end|>", FILMS[:2]),
    ("backslashes before marks", "1\\. Heat\n2\\. Alien\n3\\. Fargo", FILMS[:3]),
    ("page words around it", "ChatGPT said:\n1. Heat\n2. Alien\n3. Fargo\nCopy\nShare", FILMS[:3]),
    ("a sentence", "I'd recommend Heat, Alien, Fargo, Amélie, and Up.", FILMS),
    ("a sentence without the last comma", "You could watch Heat, Alien, Fargo, Amélie and Up.", FILMS),
    ("names alone", "Heat, Alien, Fargo, Amélie, Up", FILMS),
    ("names after a colon", "Five films: Heat, Alien, Fargo, Amélie, Up.", FILMS),
    (
        "two sentences",
        "You might like Heat or Alien. Another good choice is Fargo, which has a lot of snow.",
        FILMS[:3],
    ),
    ("a question after it", "I suggest Heat, Alien and Fargo. Would you like more films, books or songs?", FILMS[:3]),
    ("reasons in brackets", "Try Heat (a chase), Alien (a ship) and Fargo (snow).", FILMS[:3]),
    (
        "small things",
        "You could make an omelette, a frittata or scrambled eggs.",
        ["omelette", "frittata", "scrambled eggs"],
    ),
    ("quotes in a sentence", 'My picks are "Heat," "Alien," and "Fargo." Have fun!', FILMS[:3]),
    ("such as", "There are classics such as Heat, Alien and Fargo that everybody should know.", FILMS[:3]),
    ("how about one", "How about Heat? It has a great chase, good music and a long talk in a café.", ["heat"]),
    ("one name", "Heat.", ["heat"]),
    ("one name with its subtitle", "Dune: Part Two.", ["dune: part two"]),
    (
        "German",
        ("Hier sind fünf Filme:\n1. **Heat** – eine Verfolgung\n2. **Alien** – ein Schiff\n3. **Fargo** – Schnee"),
        FILMS[:3],
    ),
    ("German sentence", "Ich empfehle Heat, Alien und Fargo.", FILMS[:3]),
    ("Spanish", "Aquí tienes:\n- Heat: una persecución\n- Alien: una nave\n- Fargo: nieve", FILMS[:3]),
    ("Spanish sentence", "Te recomiendo Heat, Alien y Fargo.", FILMS[:3]),
    ("French", "Voici :\n1. Heat : une poursuite\n2. Alien : un vaisseau\n3. Fargo : de la neige", FILMS[:3]),
    ("French sentence", "Je vous recommande Heat, Alien et Fargo.", FILMS[:3]),
    ("Arabic", "١. تسلا\n٢. آبل\n٣. جوجل", ["تسلا", "آبل", "جوجل"]),
    (
        "Japanese",
        "1. 千と千尋の神隠し：宮崎駿の名作\n2. となりのトトロ：森の物語",
        ["千と千尋の神隠し", "となりのトトロ"],
    ),
    ("Japanese marks", "・寿司\n・ラーメン\n・天ぷら", ["寿司", "ラーメン", "天ぷら"]),
    ("Chinese", "1、特斯拉\n2、苹果\n3、谷歌", ["特斯拉", "苹果", "谷歌"]),
    ("Chinese sentence", "我推荐特斯拉、苹果和谷歌。", ["特斯拉", "苹果", "谷歌"]),
    ("Russian", "1. «Сталкер» — философская драма\n2. «Солярис» — космос", ["сталкер", "солярис"]),
    ("Russian sentence", "Рекомендую «Сталкер», «Солярис» и «Зеркало».", ["сталкер", "солярис", "зеркало"]),
    ("Portuguese", "1) Cidade de Deus – drama\n2) Central do Brasil – viagem", ["cidade de deus", "central do brasil"]),
    ("Korean", "1. 기생충 - 가족 이야기\n2. 올드보이 - 복수", ["기생충", "올드보이"]),
    ("a refusal", "I'm sorry, but I can't recommend any films.", []),
    (
        "a refusal with reasons",
        "I cannot help with that. It would go against my guidelines, my purpose, and the rules.",
        [],
    ),
    ("a question back", "Sure! What kind of films do you like? Comedy, drama, or something else?", []),
    ("two questions back", "Happy to help! Do you prefer crime, comedy or space? And how long may it be?", []),
    ("a greeting", "Hello! How can I help you today?", []),
    ("an opening only", "Here are five films you might like:", []),
    ("agreement only", "Sure, I can do that!", []),
    ("an error", "Something went wrong. Please try again later.", []),
    ("a thought", "There are many good films, and which one you like depends on your taste.", []),
]

# Written once the rules were finished, to see what they make of texts they were not written for.
MORE_ITEMS = [
    (
        (
            "Sure thing! My top 5:\n\n1️⃣ **Pad Thai** 🍜 – sweet and sour\n2️⃣ **Ramen** – rich\n"
            "3️⃣ **Tacos** 🌮 – fresh\n4️⃣ **Pho** – light\n5️⃣ **Paella** – saffron"
        ),
        ["pad thai", "ramen", "tacos", "pho", "paella"],
    ),
    (
        (
            "**1. Nike**\n*Why it's great:* shoes for everyone.\n\n**2. Patagonia**\n"
            "*Why it's great:* lasts long.\n\n**3. IKEA**\n*Why it's great:* cheap."
        ),
        ["nike", "patagonia", "ikea"],
    ),
    (
        (
            "Haircuts that would suit you:\n\n* **Textured Crop:** short and easy.\n"
            "* **Buzz Cut:** needs no care.\n* **Low Fade with Waves:** clean sides.\n\n"
            "Show these to your barber."
        ),
        ["textured crop", "buzz cut", "low fade with waves"],
    ),
    (
        (
            "Here are five majors to think about:\n\n1. Computer Science: lots of jobs.\n"
            "2. Nursing: always needed.\n3. Psychology: how people think.\n4. Economics: markets.\n"
            "5. Biology: life."
        ),
        ["computer science", "nursing", "psychology", "economics", "biology"],
    ),
    (
        "Business Administration — broad\nNursing — secure\nComputer Science — well paid",
        ["business administration", "nursing", "computer science"],
    ),
    (
        "1. Olive Garden (Italian, $$)\n2. P.F. Chang's (Chinese, $$)\n3. In-N-Out Burger (fast food, $)",
        ["olive garden", "p.f. chang's", "in-n-out burger"],
    ),
    (
        (
            "- **The Bear** (Hulu): a kitchen\n- **Severance** (Apple TV+): an office\n"
            "- **Abbott Elementary** (ABC): a school"
        ),
        ["bear", "severance", "abbott elementary"],
    ),
    ("Top picks\n=========\n\n1. Parasite\n2. Moonlight\n3. Get Out", ["parasite", "moonlight", "get out"]),
    (
        (
            'Movies:\n1. "Everything Everywhere All at Once" (2022) - A laundromat owner saves worlds.\n'
            '2. "Knives Out" (2019) - A family and a murder.'
        ),
        ["everything everywhere all at once", "knives out"],
    ),
    ("I'd go for Nike, Adidas, or New Balance.", ["nike", "adidas", "new balance"]),
    ("My favorites are Dune, Arrival, and Her.", ["dune", "arrival", "her"]),
    (
        "Five good choices would be: Chipotle, Panera, Shake Shack, Sweetgreen, and Five Guys.",
        ["chipotle", "panera", "shake shack", "sweetgreen", "five guys"],
    ),
    (
        ("| Restaurant | Cuisine |\n|---|---|\n| Nobu | Japanese |\n| Carbone | Italian |\n\nWould you like more?"),
        ["nobu", "carbone"],
    ),
    ("A) Heat\nB) Alien\nC) Fargo", FILMS[:3]),
    ("a. Heat\nb. Alien\nc. Fargo", FILMS[:3]),
    ("i. Heat\nii. Alien\niii. Fargo", FILMS[:3]),
    ("First, Heat: a chase.\nSecond, Alien: a ship.\nThird, Fargo: snow.", FILMS[:3]),
    ("Film 1: Heat\nFilm 2: Alien\nFilm 3: Fargo", FILMS[:3]),
    ("1. Title: Heat\n   Year: 1995\n2. Title: Alien\n   Year: 1979", FILMS[:2]),
    ("**Movie 1: Heat** – a chase\n**Movie 2: Alien** – a ship", FILMS[:2]),
    (
        "1. **Bohemian Rhapsody** by Queen\n2. **Halo** by Beyoncé\n3. **Lose Yourself** by Eminem",
        ["bohemian rhapsody", "halo", "lose yourself"],
    ),
    (
        "1. Bohemian Rhapsody by Queen\n2. Halo by Beyoncé\n3. Lose Yourself by Eminem",
        ["bohemian rhapsody by queen", "halo by beyoncé", "lose yourself by eminem"],
    ),
    ("Apple (AAPL)\nMicrosoft (MSFT)\nNVIDIA (NVDA)", ["apple", "microsoft", "nvidia"]),
    (
        ("1. Apple Inc. (AAPL): phones.\n2. Alphabet Inc. (GOOGL): search.\n3. Johnson & Johnson (JNJ): health."),
        ["apple", "alphabet", "johnson & johnson"],
    ),
    ("✨ **Nike** ✨\nJust do it.\n\n✨ **Adidas** ✨\nThree stripes.", ["nike", "adidas"]),
    ("Great question! It depends on your hair type. Do you have curly or straight hair?", []),
    (
        (
            "As an AI, I don't have personal preferences, but here are three popular films:\n\n1. Heat\n"
            "2. Alien\n3. Fargo"
        ),
        FILMS[:3],
    ),
    (
        ("I can't browse the internet right now. You could try Yelp, Google Maps, or TripAdvisor to find places."),
        ["yelp", "google maps", "tripadvisor"],
    ),
    ("Sorry, I can't do that.\n\nHowever, you may like:\n- Heat\n- Alien", FILMS[:2]),
    (
        (
            "Voici cinq entreprises :\n\n1. **Danone** – produits laitiers\n2. **L'Oréal** – cosmétiques\n"
            "3. **Renault** – voitures"
        ),
        ["danone", "l'oréal", "renault"],
    ),
    ("Ich würde dir BMW, SAP oder Siemens empfehlen.", ["bmw", "sap", "siemens"]),
    ("Podrías ver Roma, Volver o Relatos salvajes.", ["roma", "volver", "relatos salvajes"]),
    ("おすすめは「君の名は。」、「パプリカ」、「もののけ姫」です。", ["君の名は", "パプリカ", "もののけ姫"]),
    ("1. Тинькофф: банк\n2. Яндекс: поиск\n3. Сбер: банк", ["тинькофф", "яндекс", "сбер"]),
    ("أنصحك بمشاهدة:\n1. الرسالة - فيلم تاريخي\n2. المومياء - دراما", ["الرسالة", "المومياء"]),
    ("Heat; Alien; Fargo; Amélie; Up", FILMS),
    ("Heat / Alien / Fargo", FILMS[:3]),
    ("Heat | Alien | Fargo", FILMS[:3]),
    ("1. Heat,\n2. Alien,\n3. Fargo", FILMS[:3]),
    ("**Heat, Alien, and Fargo** are my three picks.", FILMS[:3]),
    ("The five are:\nHeat (1995)\nAlien (1979)\nFargo (1996)\nAmélie (2001)\nUp (2009)", FILMS),
    (
        "Okay! \n\n1. Barbie\n\n2. Oppenheimer\n\n3. Past Lives\n\nLet me know if you've seen them!",
        ["barbie", "oppenheimer", "past lives"],
    ),
    ("1. Barbie -- pink\n2. Oppenheimer -- bombs", ["barbie", "oppenheimer"]),
    ("* 1. Barbie\n* 2. Oppenheimer\n* 3. Past Lives", ["barbie", "oppenheimer", "past lives"]),
    ("(1) Barbie; (2) Oppenheimer; (3) Past Lives", ["barbie", "oppenheimer", "past lives"]),
    ("You can't go wrong with Barbie, Oppenheimer, or Past Lives!", ["barbie", "oppenheimer", "past lives"]),
    (
        (
            "Here are 5 haircuts I'd suggest:\n\n**1. The Classic Bob**\nA timeless cut.\n\n"
            "**2. Curtain Bangs**\nSoft and flattering.\n\n**3. Pixie Cut**\nBold.\n\n**4. Long Layers**\n"
            "Easy.\n\n**5. Shag**\nMessy."
        ),
        ["classic bob", "curtain bangs", "pixie cut", "long layers", "shag"],
    ),
    (
        (
            "1. **Microsoft Corporation (MSFT):** software\n2. **The Coca-Cola Company (KO):** drinks\n"
            "3. **Berkshire Hathaway Inc. (BRK.B):** everything"
        ),
        ["microsoft", "coca-cola", "berkshire hathaway"],
    ),
    (
        (
            "Absolutely! Based on what you told me, I think you'd enjoy:\n\n"
            '🎵 "Redbone" – Childish Gambino\n🎵 "Electric Feel" – MGMT\n🎵 "Nights" – Frank Ocean'
        ),
        ["redbone", "electric feel", "nights"],
    ),
    (
        "### 🍝 Italian\n- **Carbone** – classic\n- **Lilia** – pasta\n\n### 🍣 Japanese\n- **Nobu** – famous",
        ["carbone", "lilia", "nobu"],
    ),
    (
        (
            "* **Biology**\n* **Chemistry**\n* **Physics**\n* **Mathematics**\n* **English**\n\n"
            "Which of these sounds best to you?"
        ),
        ["biology", "chemistry", "physics", "mathematics", "english"],
    ),
    (
        "You may like the Brooklyn Museum, the High Line and Governors Island.",
        ["brooklyn museum", "high line", "governors island"],
    ),
    (
        "Some great options include Costco (members only), Target and Trader Joe's.",
        ["costco", "target", "trader joe's"],
    ),
    (
        "1. Get Out (2017): Jordan Peele's debut.\n2. Us (2019): doubles.\n3. Nope (2022): a cloud.",
        ["get out", "us", "nope"],
    ),
    (
        "1) 12 Years a Slave\n2) 21 Jump Street\n3) 50 First Dates",
        ["12 years a slave", "21 jump street", "50 first dates"],
    ),
    ("- AT&T\n- H&M\n- P&G\n- S&P Global", ["at&t", "h&m", "p&g", "s&p global"]),
    ("1. Dr. Strange\n2. Mr. & Mrs. Smith\n3. St. Elmo's Fire", ["dr. strange", "mr. & mrs. smith", "st. elmo's fire"]),
    (
        "No problem. Here's a list:\n\n\t1.\tHades\n\t2.\tCeleste\n\t3.\tHollow Knight",
        ["hades", "celeste", "hollow knight"],
    ),
    ("1. *Beloved* by Toni Morrison\n2. *Kindred* by Octavia Butler", ["beloved", "kindred"]),
    ("Could you tell me a bit about your budget, your face shape, and how much time you have in the morning?", []),
    ("Thank you for your question! I'd be glad to help once I know more about you.", []),
    ("Ecco cinque film:\n1. **La vita è bella** – commedia\n2. **Gomorra** – crimine", ["la vita è bella", "gomorra"]),
    ("以下是五部电影:\n1.《霸王别姬》:经典\n2.《活着》:历史\n3.《英雄》:武侠", ["霸王别姬", "活着", "英雄"]),
    ('1. Nike: "Just Do It" is its slogan.\n2. Apple: "Think Different" was its slogan.', ["nike", "apple"]),
    ("My recommendation is Parasite.", ["parasite"]),
]
