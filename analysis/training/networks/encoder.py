"""Tier B: a cross-encoder that reads both texts together and learns what tier A leaves. Runs as its own program."""

import random
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import AutoModel, AutoTokenizer
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES

from analysis.stats.detection import Cases, Scored, measures_of
from analysis.training.networks.folder import CHECKPOINT, JobFolder, ProgramStopped, run_as_program

HEAD = "head.pt"
WARM = 0.1  # share of steps in which the rate rises; then it falls to 0
DECAY = 0.01
LONGEST_STEP = 1.0  # the norm to which gradients are clipped
PROBES = 8  # batches of the first epoch whose bare forward and backward pass is timed
AT_ONCE = 32  # pairs that are scored together
CURVE_POINTS = 60  # of the loss, in each seed


class PairEncoder(nn.Module):
    """A model that scores (first, second) as a logit, by a linear head that starts at 0.

    The head reads the mean of all tokens; in a causal model only the last one, which alone attends to all. Weights
    learn in float32, whatever their stored type.
    """

    def __init__(self, base: str) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(base, dtype=torch.float32)
        self.takes = set(signature(self.encoder.forward).parameters)
        self.reads_onwards = is_decoder(self.encoder.config.model_type)
        self.head = nn.Linear(self.encoder.config.hidden_size, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, tokens: dict[str, torch.Tensor]) -> torch.Tensor:
        given = {name: value for name, value in tokens.items() if name in self.takes}
        hidden, mask = self.encoder(**given).last_hidden_state, tokens["attention_mask"]
        if self.reads_onwards:
            last = (mask.cumsum(1) * mask).argmax(1)  # whichever side is padded
            return self.head(hidden[torch.arange(len(last), device=last.device), last]).squeeze(-1).float()
        wide = mask.unsqueeze(-1)
        return self.head((hidden * wide).sum(1) / wide.sum(1)).squeeze(-1).float()

    def save(self, folder: Path, tokenizer: Any) -> None:
        """Save it in Hugging Face's form, with the head beside it; replace the folder once all is written."""
        unfinished = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(unfinished, ignore_errors=True)
        self.encoder.save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
        torch.save(self.head.state_dict(), unfinished / HEAD)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.replace(folder)


def is_decoder(kind: str) -> bool:
    """Whether models of this kind continue texts and cannot fill gaps."""
    return kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES


def read_tokenizer(base: str) -> Any:
    """Read the tokenizer; if it has no padding token, any other will do, since the mask marks padding."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    return tokenizer


def load_pair_encoder(folder: Path) -> PairEncoder:
    model = PairEncoder(str(folder))
    model.head.load_state_dict(torch.load(folder / HEAD, weights_only=True))
    return model


# --- batches ----------------------------------------------------------------


@dataclass
class Reader:
    """Turns texts into tokens; each of two responses is read with the first text."""

    tokenizer: Any
    longest: int
    device: torch.device

    def read(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, torch.Tensor]]:
        names = ("second", "third") if rows[0]["third"] else ("second",)
        return [self._read([(row["first"], row[name]) for row in rows]) for name in names]

    def _read(self, pairs: list[tuple[str, str]]) -> dict[str, torch.Tensor]:
        between = "" if self.tokenizer.sep_token else "\n\n"  # if no token separates two texts
        found = self.tokenizer(
            [f"{first}{between}" for first, _ in pairs], [second for _, second in pairs],
            truncation=True, max_length=self.longest, padding=True, return_tensors="pt",
        )  # fmt: skip
        return {name: value.to(self.device) for name, value in found.items()}

    def length(self, row: dict[str, Any]) -> int:
        return len(row["first"]) + len(row["second"]) + len(row["third"])


def logits_of(model: PairEncoder, sides: list[dict[str, torch.Tensor]]) -> torch.Tensor:
    first, *second = [model(side) for side in sides]
    return first - second[0] if second else first


def batches(lengths: Sequence[int], size: int, seed: int, epoch: int) -> list[list[int]]:
    """Batch the places of texts of similar length, shuffled by seed and epoch."""
    mixed = random.Random(f"{seed} {epoch}")
    places = sorted(range(len(lengths)), key=lambda place: (lengths[place] * mixed.uniform(0.8, 1.25), place))
    found = [places[start : start + size] for start in range(0, len(places), size)]
    mixed.shuffle(found)
    return found


def loss_of(logits: torch.Tensor, rows: Sequence[dict[str, Any]], weight: float) -> torch.Tensor:
    """Cross-entropy with tier A's offset already added; `weight`: of a yes."""
    offsets, labels = (torch.tensor([row[name] for row in rows], device=logits.device) for name in ("offset", "label"))
    return nn.functional.binary_cross_entropy_with_logits(
        logits + offsets, labels, pos_weight=torch.tensor(weight, device=logits.device)
    )


# --- one seed ---------------------------------------------------------------


class EncoderTraining:
    """The training of all seeds, one after the other; a checkpoint says where it is."""

    def __init__(self, folder: JobFolder) -> None:
        self.folder, job = folder, folder.job
        torch.set_num_threads(job["threads"])
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.rows = folder.examples()
        parts = ("train", "valid")
        self.train, self.valid = ([row for row in self.rows if row["split"] == part] for part in parts)
        self.tokenizer = read_tokenizer(job["base"])
        self.reader = Reader(self.tokenizer, job["tokens"], self.device)
        self.lengths = [self.reader.length(row) for row in self.train]
        self.per_epoch = -(-len(self.train) // job["batch"])
        self.steps = self.per_epoch * job["epochs"]
        self.seeds: list[dict[str, Any]] = []
        self.timing = {"loop": 0.0, "probed": 0.0, "bare": 0.0, "setting_up": 0.0}

    def clock(self) -> float:
        """Seconds: by the clock on a GPU, else of the processor, so that other work on the machine does not count."""
        if self.device.type == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()

    def begin(self, seed: int) -> None:
        began = self.clock()
        torch.manual_seed(seed)
        self.seed, self.step, self.validated, self.best = seed, 0, 0, -1.0
        self.model = PairEncoder(self.folder.job["base"]).to(self.device)
        rate = self.folder.job["rate"]
        self.optimizer = torch.optim.AdamW(self.model.parameters(), rate, weight_decay=DECAY, fused=True)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._rate)
        self.timing["setting_up"] += self.clock() - began

    def _rate(self, step: int) -> float:
        warm = max(1, round(WARM * self.steps))
        return min((step + 1) / warm, max(0.0, (self.steps - step) / max(1, self.steps - warm)))

    def run(self) -> None:
        self.resume()
        while len(self.seeds) < self.folder.job["seeds"]:
            if self.seed != len(self.seeds):
                self.begin(len(self.seeds))
            self.run_seed()
            self.seeds.append({"seed": self.seed, "valid": self.best})
            self.save()

    def resume(self) -> None:
        """Go on from the last checkpoint, if there is one."""
        path = self.folder.path / CHECKPOINT
        self.begin(0)
        if path.exists():
            kept = torch.load(path, weights_only=False, map_location=self.device)
            self.seeds, self.timing, self.folder.curve = kept["seeds"], kept["timing"], kept["curve"]
            self.begin(kept["seed"])
            self.model.load_state_dict(kept["model"])
            self.optimizer.load_state_dict(kept["optimizer"])
            self.scheduler.load_state_dict(kept["scheduler"])
            self.step, self.validated, self.best = kept["step"], kept["validated"], kept["best"]
            torch.set_rng_state(kept["random"].cpu())

    def save(self) -> None:
        unfinished = self.folder.path / f"{CHECKPOINT}.part"
        states = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler")}
        plain = {name: getattr(self, name) for name in ("seed", "step", "validated", "best", "seeds", "timing")}
        torch.save({**states, **plain, "curve": self.folder.curve, "random": torch.get_rng_state()}, unfinished)
        unfinished.replace(self.folder.path / CHECKPOINT)
        self.saved = time.monotonic()

    # -- steps

    def run_seed(self) -> None:
        self.saved = time.monotonic()
        while self.step < self.steps:
            epoch, done = divmod(self.step, self.per_epoch)
            for places in batches(self.lengths, self.folder.job["batch"], self.seed, epoch)[done:]:
                self.validate_once()
                self.take_step([self.train[place] for place in places])
                self.look_up()
        self.validate_once()
        self.write_scores()

    def take_step(self, rows: Sequence[dict[str, Any]]) -> None:
        probed = self.seed == 0 and self.step < self.per_epoch and self.step % max(2, self.per_epoch // PROBES) == 1
        if probed:
            self.probe(rows)
        began = self.clock()
        self.model.train()
        loss = loss_of(logits_of(self.model, self.reader.read(rows)), rows, self.folder.job["positive_weight"])
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), LONGEST_STEP)
        self.optimizer.step()
        self.scheduler.step()
        self.step += 1
        took = self.clock() - began
        self.timing["loop"] += took
        self.timing["probed"] += took if probed else 0.0
        if self.step % max(1, self.steps // CURVE_POINTS) == 0:
            self.folder.curve.append({"seed": self.seed, "step": self.step, "loss": round(loss.item(), 5)})

    def probe(self, rows: Sequence[dict[str, Any]]) -> None:
        """Time the same batch forward and backward and nothing else: the limit of the loop's time.

        Give back the random state, so that a training with it is the same as one without.
        """
        state = torch.get_rng_state()
        sides = self.reader.read(rows)
        self.model.train()
        self.optimizer.zero_grad()
        began = self.clock()
        loss_of(logits_of(self.model, sides), rows, 1.0).backward()
        self.timing["bare"] += self.clock() - began
        torch.set_rng_state(state)

    def look_up(self) -> None:
        """Note progress; save now and then, and before it ends."""
        self.folder.note((len(self.seeds) + self.step / self.steps) / self.folder.job["seeds"])
        if self.folder.has_to_end:
            self.save()
            raise ProgramStopped
        if time.monotonic() - self.saved > self.folder.job["save_every"]:
            self.save()

    def validate_once(self) -> None:
        """Validate after each epoch and keep the weights that are best on the validation part.

        A resumed program does so if it was ended before.
        """
        if self.step % self.per_epoch or self.step == self.validated:
            return
        value, self.validated = self.value_of(self.score(self.valid)), self.step
        self.folder.curve.append({"seed": self.seed, "step": self.step, "valid": round(value, 5)})
        if value > self.best or self.step == self.per_epoch:
            self.best = value
            self.model.save(self.seed_folder, self.tokenizer)
        self.save()
        self.folder.note((len(self.seeds) + self.step / self.steps) / self.folder.job["seeds"], always=True)

    @property
    def seed_folder(self) -> Path:
        return self.folder.path / f"seed-{self.seed}"

    def value_of(self, scores: np.ndarray) -> float:
        """Compute the main measure on the validation part; 0.5 if it is undefined."""
        rows, name = self.valid, self.folder.job["measure"]
        queries = {row["key"]: code for code, row in enumerate(rows)}
        truth = np.array([row["label"] > 0.5 for row in rows])
        cases = Cases(truth, np.zeros(len(rows), np.int64), np.array([queries[row["key"]] for row in rows]))
        value = float(measures_of(cases, Scored(scores, 0.0), [name])[name](np.ones((1, 1)))[0])
        return value if value == value else 0.5

    def score(self, rows: Sequence[dict[str, Any]]) -> np.ndarray:
        return np.array([row["offset"] for row in rows]) + score_rows(self.model, self.reader, rows)

    def write_scores(self) -> None:
        self.model = load_pair_encoder(self.seed_folder).to(self.device)
        np.save(self.folder.path / f"seed-{self.seed}.npy", self.score(self.rows))


def score_rows(model: PairEncoder, reader: Reader, rows: Sequence[dict[str, Any]]) -> np.ndarray:
    """Return logits, (rows,), without tier A's offsets."""
    model.eval()
    order = sorted(range(len(rows)), key=lambda place: reader.length(rows[place]))
    scores = np.zeros(len(rows))
    with torch.inference_mode():
        for start in range(0, len(order), AT_ONCE):
            places = order[start : start + AT_ONCE]
            scores[places] = logits_of(model, reader.read([rows[place] for place in places])).cpu().numpy()
    return scores


# --- the program ------------------------------------------------------------


def train(folder: JobFolder) -> dict[str, Any]:
    training = EncoderTraining(folder)
    training.run()
    return {"seeds": training.seeds, "timing": training.timing, "steps": training.steps, "device": str(training.device)}


def score(folder: JobFolder) -> dict[str, Any]:
    """Score by existing weights, into `scores.npy`."""
    job, rows = folder.job, folder.examples()
    torch.set_num_threads(job["threads"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    reader = Reader(read_tokenizer(job["base"]), job["tokens"], device)
    model = load_pair_encoder(Path(job["base"])).to(device)
    np.save(folder.path / "scores.npy", score_rows(model, reader, rows))
    return {}


if __name__ == "__main__":
    sys.exit(run_as_program(Path(sys.argv[1]), {"train": train, "score": score}, torch.OutOfMemoryError))
