"""The vectors most like each of many questions, chosen while they come in, piece by piece."""

import numpy as np

Chosen = tuple[np.ndarray, np.ndarray, np.ndarray]  # question, vector (both by number), similarity

ROUNDING = 1e-6  # of a float32 product: whatever is nearer to each other is compared again, exactly
EQUAL = 1e-9  # exact similarities that differ less are equal, so that no processor's rounding decides
FULL = 4  # times what is wanted: then what no longer has a chance is let go


class Ranking:
    """For each question the `number` vectors of greatest likeness; all vectors have length 1.

    A vector is kept when it reaches what `number` earlier ones have reached (the question's floor), so most
    are ruled out by one comparison and none is sorted before it stands among the best.
    """

    def __init__(self, questions: np.ndarray, number: int) -> None:
        self.questions, self.number = questions, number
        self.floor: np.ndarray = np.full(len(questions), -np.inf, "float32")
        self.names: list[np.ndarray] = []
        self.matrices: list[np.ndarray] = []
        self.ends: list[int] = []
        self.chosen: list[Chosen] = []
        self.most = FULL * number * len(questions)

    def add(self, names: np.ndarray, matrix: np.ndarray) -> None:
        """More vectors, a row for each name."""
        start = self.ends[-1] if self.ends else 0
        self.names.append(names)
        self.matrices.append(matrix)
        self.ends.append(start + len(matrix))
        similarities = self.questions @ matrix.T
        if not start and len(matrix) >= self.number:
            self.floor = np.partition(similarities, -self.number, axis=1)[:, -self.number] - ROUNDING
        found = np.flatnonzero((similarities >= self.floor[:, None]).ravel())
        asked, place = np.divmod(found, max(len(matrix), 1))
        self.chosen.append((asked, place + start, similarities.ravel()[found]))
        if sum(len(part[0]) for part in self.chosen) > self.most:
            self.let_go()

    def let_go(self) -> Chosen:
        """Raise the floors to what the best have reached; what is left, by question, most similar first."""
        asked, place, similarity = (np.concatenate(column) for column in zip(*self.chosen, strict=True))
        order = np.argsort(4.0 * asked - similarity)  # similarities lie between -1 and 1
        asked, place, similarity = asked[order], place[order], similarity[order]
        if self.ends[-1] >= self.number:
            last = np.searchsorted(asked, np.arange(len(self.questions))) + self.number - 1
            self.floor = similarity[last] - ROUNDING
        left = similarity >= self.floor[asked]
        kept = asked[left], place[left], similarity[left]
        self.chosen, self.most = [kept], FULL * max(len(kept[0]), 1)
        return kept

    def best(self) -> list[list[tuple[str, float]]]:
        """For each question names and similarities, most similar first; equal ones by name."""
        if not self.ends:
            return [[] for _ in self.questions]
        asked, place, similarity = self.let_go()
        similarity = self.measure_close_ones(asked, place, similarity.astype("float64"))
        names = np.concatenate(self.names)[place]
        order = np.lexsort((names, -np.round(similarity / EQUAL), asked))
        pairs = list(zip(names[order].astype("U").tolist(), similarity[order].tolist(), strict=True))
        starts = np.searchsorted(asked, np.arange(len(self.questions) + 1)).tolist()
        return [pairs[a : min(b, a + self.number)] for a, b in zip(starts, starts[1:], strict=False)]

    def measure_close_ones(self, asked: np.ndarray, place: np.ndarray, similarity: np.ndarray) -> np.ndarray:
        """Neighbours that rounding could have put in the wrong order are measured again in double precision."""
        near = (np.diff(similarity) > -2 * ROUNDING) & (np.diff(asked) == 0)
        close = np.flatnonzero(np.append(near, False) | np.insert(near, 0, False))
        piece = np.searchsorted(self.ends, place[close], side="right")
        for number in np.unique(piece):
            rows = close[piece == number]
            matrix = self.matrices[number]
            vectors = matrix[place[rows] - (self.ends[number] - len(matrix))].astype("float64")
            similarity[rows] = np.einsum("ij,ij->i", self.questions[asked[rows]].astype("float64"), vectors)
        return similarity
