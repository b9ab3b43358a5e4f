"""Tier C: a language model learns by GRPO to reason before it says yes or no. Runs as its own program."""

import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from analysis.training.networks.folder import JobFolder, ProgramStopped, run_as_program

AT_ONCE = 16  # prompts that are answered together
ANSWER = re.compile(r"<answer>\s*(yes|no)\s*</answer>", re.IGNORECASE)
ENDS = "</answer>"
FORMED = 0.1  # reward for the requested form; a right answer in it adds 1
STATE = "trainer_state.json"  # the last file of a checkpoint
Row = dict[str, Any]


def read_answer(reply: str) -> str:
    """Read `yes` or `no`; empty unless the reply ends with one answer in its form, and has no other."""
    found = ANSWER.findall(reply)
    return found[0].lower() if len(found) == 1 and reply.rstrip().lower().endswith(ENDS) else ""


def reward_right(completions: list[Any], answer: list[str], **more: Any) -> list[float]:
    return [float(read_answer(text_of(each)) == right) for each, right in zip(completions, answer, strict=True)]


def reward_formed(completions: list[Any], **more: Any) -> list[float]:
    return [FORMED * bool(read_answer(text_of(each))) for each in completions]


def text_of(completion: Any) -> str:
    return completion if isinstance(completion, str) else completion[-1]["content"]


# --- weights ----------------------------------------------------------------


def open_base(base: Path, work: Path) -> Path:
    """Return a folder with weights; convert those of a quantised file once, since they cannot be trained."""
    if base.is_dir():
        return base
    plain = work / "base"
    if not (plain / "config.json").exists():
        shutil.rmtree(plain, ignore_errors=True)
        loaded = AutoModelForCausalLM.from_pretrained(base.parent, gguf_file=base.name, dtype=torch.float32)
        config = loaded.config
        del config.quantization_config
        model = type(loaded)(config)
        model.load_state_dict(loaded.state_dict())
        unfinished = work / "base.part"
        shutil.rmtree(unfinished, ignore_errors=True)
        model.save_pretrained(unfinished)
        AutoTokenizer.from_pretrained(base.parent, gguf_file=base.name).save_pretrained(unfinished)
        unfinished.replace(plain)
    return plain


class Reasoner:
    """A model that answers: its reply, and the probability of a yes at the place of the answer."""

    def __init__(self, base: Path, job: Row) -> None:
        self.job, self.device = job, torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.tokenizer = read_tokenizer(base)
        kind = "auto" if self.device.type == "cuda" else torch.float32  # as stored
        self.model = AutoModelForCausalLM.from_pretrained(base, dtype=kind).to(self.device).eval()

    def answer(self, folder: JobFolder, rows: Sequence[Row], start: float, end: float) -> tuple[np.ndarray, list[str]]:
        """Return (rows,) probabilities of a yes, and the replies. Raises ProgramStopped."""
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]["prompt"]))
        scores, replies = np.zeros(len(rows)), [""] * len(rows)
        for at in range(0, len(order), AT_ONCE):
            places = order[at : at + AT_ONCE]
            for place, score, reply in self._answer([self.write(rows[place]["prompt"]) for place in places], places):
                scores[place], replies[place] = score, reply
            folder.note(start + (end - start) * (at + len(places)) / max(1, len(rows)), always=True)
            if folder.has_to_end:
                raise ProgramStopped
        return scores, replies

    def write(self, prompt: str) -> str:
        return write_prompt(self.tokenizer, prompt, self.job["tokens"])

    @torch.inference_mode()
    def _answer(self, prompts: list[str], places: list[int]) -> list[tuple[int, float, str]]:
        read = self.tokenizer(prompts, return_tensors="pt", padding=True, padding_side="left").to(self.device)
        given = {name: read[name] for name in ("input_ids", "attention_mask")}
        said = self.model.generate(
            **given, do_sample=False, max_new_tokens=self.job["reply"], pad_token_id=self.tokenizer.pad_token_id
        )
        replies = self.tokenizer.batch_decode(said[:, given["input_ids"].shape[1] :], skip_special_tokens=True)
        before = [prompt + reply.split("<answer>")[0] for prompt, reply in zip(prompts, replies, strict=True)]
        return list(zip(places, self.probabilities(before), replies, strict=True))

    def probabilities(self, texts: list[str]) -> list[float]:
        """Compute the probability of a yes against a no after each text."""
        found = []
        for text in texts:
            said = [self._likelihood(text, f"<answer>{word}") for word in ("yes", "no")]
            found.append(float(torch.softmax(torch.tensor(said), 0)[0]))
        return found

    def _likelihood(self, text: str, more: str) -> float:
        known = self.tokenizer(text, return_tensors="pt")["input_ids"]
        whole = self.tokenizer(text + more, return_tensors="pt")["input_ids"].to(self.device)
        logits = self.model(whole).logits[0, :-1].float().log_softmax(-1)
        told = logits.gather(1, whole[0, 1:, None])[:, 0]
        return float(told[min(known.shape[1], whole.shape[1] - 1) - 1 :].sum())


def read_tokenizer(base: Path) -> Any:
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return tokenizer


def write_prompt(tokenizer: Any, prompt: str, most: int) -> str:
    """Write the prompt as the model expects it; cut the middle of a long one, so that question and form stay."""
    tokens = tokenizer(prompt)["input_ids"]
    if len(tokens) > most:
        half = most // 2
        prompt = f"{tokenizer.decode(tokens[:half])} … {tokenizer.decode(tokens[-half:])}"
    if not tokenizer.chat_template:
        return f"{prompt}\n"
    messages = [{"role": "user", "content": prompt}]
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)


# --- learning ---------------------------------------------------------------


class Notes(TrainerCallback):
    """A callback that records rewards, and ends the training with a checkpoint when the program has to end."""

    def __init__(self, folder: JobFolder, steps: int, start: float, end: float) -> None:
        self.folder, self.steps, self.start, self.end = folder, steps, start, end

    def on_log(self, args: Any, state: Any, control: Any, logs: Row | None = None, **more: Any) -> None:
        logs = logs or {}
        if "reward" in logs:
            names = {"reward": "reward", "rewards/reward_right/mean": "right", "kl": "kl"}
            kept = {name: round(float(logs[key]), 5) for key, name in names.items() if key in logs}
            formed = float(logs.get("rewards/reward_formed/mean", 0.0)) / FORMED
            self.folder.curve = [each for each in self.folder.curve if each["step"] < state.global_step]
            self.folder.curve.append({"seed": 0, "step": state.global_step, **kept, "formed": round(formed, 5)})
        self.folder.note(self.start + (self.end - self.start) * state.global_step / self.steps, always=True)

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if self.folder.has_to_end:
            control.should_save = control.should_training_stop = True

    def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.folder.write("curve.json", {"curve": self.folder.curve})


def last_checkpoint(folder: Path) -> Path | None:
    """Find the newest complete checkpoint; remove incomplete ones."""
    found = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    for path in found:
        if not is_whole(path):
            shutil.rmtree(path)
    return next((path for path in reversed(found) if path.exists()), None)


def is_whole(checkpoint: Path) -> bool:
    try:
        return bool(json.loads((checkpoint / STATE).read_text()))
    except (OSError, ValueError):
        return False


def learn(folder: JobFolder, base: Path, rows: list[Row], start: float, end: float) -> None:
    """Train by GRPO to the last step, then save the weights in `reasoner`."""
    job, work = folder.job, folder.path / "steps"
    tokenizer = read_tokenizer(base)
    told = [{"prompt": write_prompt(tokenizer, row["prompt"], job["tokens"]), "answer": row["answer"]} for row in rows]
    on_cpu = not torch.cuda.is_available()
    # A step stays one step: its replies are written, and learned from, in parts that fit into memory. Only this form of
    # the loss then counts each reply as much as any other, whichever part it was in.
    sequences, at_once = job.get("sequences", job["rollouts"]), job.get("at_once", job["batch"])
    in_parts = sequences < job["rollouts"] or at_once < job["batch"]
    parts = {"steps_per_generation": at_once * job["rollouts"] // sequences, "loss_type": "grpo"} if in_parts else {}
    settings = GRPOConfig(
        **parts,
        output_dir=str(work),
        max_steps=job["steps"],
        per_device_train_batch_size=sequences,
        gradient_accumulation_steps=job["batch"] * job["rollouts"] // sequences,
        num_generations=job["rollouts"],
        max_completion_length=job["reply"],
        learning_rate=job["rate"],
        beta=job["kl"],
        temperature=1.0,
        seed=job["seed"],
        data_seed=job["seed"],
        logging_steps=1,
        save_steps=job["save_steps"],
        save_total_limit=2,
        report_to=[],
        use_cpu=on_cpu,
        bf16=not on_cpu,
        gradient_checkpointing=not on_cpu,
        disable_tqdm=True,
        # Steps at the usual rate are too small for bfloat16: added to a weight, they round to nothing.
        model_init_kwargs={"dtype": "bfloat16" if job["lora"] and not on_cpu else "float32"},
    )
    lora = LoraConfig(r=job["lora"], lora_alpha=2 * job["lora"], target_modules="all-linear") if job["lora"] else None
    trainer = GRPOTrainer(
        model=str(base),
        reward_funcs=[reward_right, reward_formed],
        args=settings,
        train_dataset=Dataset.from_list(told),
        processing_class=tokenizer,
        peft_config=lora,
        callbacks=[Notes(folder, job["steps"], start, end)],
    )
    known = last_checkpoint(work)
    if known and (folder.path / "curve.json").exists():
        folder.curve = json.loads((folder.path / "curve.json").read_text())["curve"]
    trainer.train(resume_from_checkpoint=str(known) if known else None)
    if trainer.state.global_step < job["steps"]:
        raise ProgramStopped
    save_whole(trainer, tokenizer, folder.path / "reasoner")


def save_whole(trainer: GRPOTrainer, tokenizer: Any, place: Path) -> None:
    unfinished = place.with_name(f"{place.name}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    model = trainer.accelerator.unwrap_model(trainer.model)
    if hasattr(model, "merge_and_unload"):  # in float32: small changes would round to nothing in bfloat16
        model = model.float().merge_and_unload()
    model.save_pretrained(unfinished)
    tokenizer.save_pretrained(unfinished)
    unfinished.replace(place)


# --- the program ------------------------------------------------------------


def train(folder: JobFolder) -> Row:
    """Ask the base model, train it, and ask again: `before` and `after` on the validation and test parts."""
    torch.set_num_threads(folder.job["threads"])
    rows = folder.examples()
    asked, base = [row for row in rows if row["split"] != "train"], open_base(Path(folder.job["base"]), folder.path)
    answer_once(folder, "before", base, asked, 0.0, 0.25)
    if not (folder.path / "reasoner").exists():
        learn(folder, base, [row for row in rows if row["split"] == "train"], 0.25, 0.75)
    answer_once(folder, "after", folder.path / "reasoner", asked, 0.75, 1.0)
    return {"device": "cuda" if torch.cuda.is_available() else "cpu", "curve": folder.curve}


def answer_once(folder: JobFolder, name: str, base: Path, rows: list[Row], start: float, end: float) -> None:
    place = folder.path / f"{name}.json"
    if not place.exists():
        scores, replies = Reasoner(base, folder.job).answer(folder, rows, start, end)
        folder.write(place.name, {"scores": scores.tolist(), "replies": replies})


def score(folder: JobFolder) -> Row:
    """Answer by existing weights, into `after.json`."""
    torch.set_num_threads(folder.job["threads"])
    answer_once(folder, "after", Path(folder.job["base"]), folder.examples(), 0.0, 1.0)
    return {}


if __name__ == "__main__":
    sys.exit(run_as_program(Path(sys.argv[1]), {"train": train, "score": score}, torch.OutOfMemoryError))
