"""The notes that a page with JavaScript would send about how an answer got there."""

import json
import time
from random import Random


def note_pasting(text: str, rng: Random) -> dict[str, str]:
    """Form fields of one paste; now and then somebody typed a little, or everything."""
    sent = int(time.time() * 1000)
    pasted = 0 if rng.random() < 0.05 else len(text)
    typed = len(text) - pasted + (rng.randrange(1, 12) if rng.random() < 0.1 else 0)
    html = f"<div>{text.replace('&', '&amp;').replace('<', '&lt;')}</div>" if pasted else ""
    pastes = [{"at": sent - rng.randrange(2_000, 9_000), "plain": pasted, "html": len(html)}] if pasted else []
    evidence = {
        "opened_at": sent - rng.randrange(60_000, 120_000),
        "copied_at": sent - rng.randrange(40_000, 60_000),
        "sent_at": sent,
        "away_ms": rng.randrange(15_000, 40_000),
        "pasted": pasted,
        "typed": typed,
        "length": len(text),
        "edited_after": bool(pasted and typed),
        "pastes": pastes,
    }
    return {"evidence": json.dumps(evidence), "html": html}
