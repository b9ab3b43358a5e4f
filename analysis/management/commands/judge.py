"""Let a model judge an annotation study's items, as one more rater."""

import json
from decimal import Decimal, InvalidOperation

from django.core.management.base import BaseCommand, CommandError

from analysis.endpoints import EndpointError
from analysis.judge_prompts import PROMPTS
from analysis.judges import JudgeError, estimate, find_judge, judge_items, open_tasks, position_bias
from surveys.models import Study


class Command(BaseCommand):
    help = "Ask a model what annotators are asked about the same items; stopped in the middle, it goes on where it was."

    def add_arguments(self, parser) -> None:
        parser.add_argument("study")
        parser.add_argument("--endpoint", required=True)
        parser.add_argument("--prompt", choices=list(PROMPTS), default="same", help="the instruction")
        parser.add_argument("--orders", choices=("both", "one"), default="both", help="of two responses")
        parser.add_argument("--temperature", type=float, default=0.0)
        parser.add_argument("--pilot", action="store_true", help="the pilot's items")
        parser.add_argument("--limit", type=int, help="at most so many calls")
        parser.add_argument("--budget", help="dollars")
        parser.add_argument("--dry-run", action="store_true", help="say what it would cost, and ask nothing")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args, **options) -> None:
        study = Study.objects.select_related("current").filter(slug=options["study"]).first()
        if study is None:
            known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no study {options['study']}. Studies: {known}.")
        if not 0 <= options["temperature"] <= 2:
            raise CommandError("--temperature must be from 0 to 2.")
        if options["limit"] is not None and options["limit"] < 1:
            raise CommandError("--limit must be 1 or more.")
        try:
            budget = None if options["budget"] is None else Decimal(options["budget"])
            report = self.judge(study, budget, options)
        except InvalidOperation:
            raise CommandError(f"--budget must be dollars such as 2.50, not {options['budget']!r}.") from None
        except (JudgeError, EndpointError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(json.dumps(report) if options["json"] else say(report))
        if report.get("stopped"):
            raise CommandError(f"Stopped early: {report['stopped']}")

    def judge(self, study: Study, budget: Decimal | None, options: dict) -> dict:
        judge = find_judge(study, options["endpoint"], options["prompt"], options["temperature"])
        both = options["orders"] == "both"
        tasks = open_tasks(judge, both_orders=both, pilot=options["pilot"], limit=options["limit"])
        planned = estimate(judge, tasks)
        if budget is not None and planned["usd"] > budget:
            raise JudgeError(f"{planned['calls']:,} calls cost about ${planned['usd']:.4f}, above --budget {budget}.")
        if options["dry_run"]:
            return planned
        judged = judge_items(judge, tasks, budget, self.show)
        return vars(judged) | {"usd": float(judged.usd), "position": position_bias(study, judge.name)}

    def show(self, done: int, total: int) -> None:
        self.stderr.write(f"\r{done:,} of {total:,} calls", ending="\n" if done == total else "")
        self.stderr.flush()


def say(report: dict) -> str:
    if "calls" in report:
        line = "{judge}: {calls:,} calls, about {tokens_in:,} tokens in, {tokens_out:,} out: ${usd:.4f}"
        return line.format(**report)
    line = "{judge}: {labelled:,} labelled, {unread:,} replies were no label, {failed:,} calls failed, ${usd:.4f}"
    lines = [line.format(**report), *(f"  no label: {reply!r}" for reply in report["examples"])]
    position = report["position"]
    if position["pairs"]:
        line = (
            "  in both orders ({pairs}): {consistent:.0%} the same response, {left:.0%} left, {right:.0%} right twice"
        )
        lines.append(line.format(**position))
    return "\n".join(lines)
