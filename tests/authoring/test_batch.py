"""Jobs share processes, but for one that broke off."""

from types import SimpleNamespace

from grading.authoring import batch
from grading.course.trees import reference_tree


def test_a_process_that_broke_off_is_replaced(tiny, monkeypatch):
    made, used = [], []

    def judge_of(lab, jailed):
        made.append(SimpleNamespace(broken=False, closed=0))
        made[-1].close = lambda one=made[-1]: vars(one).update(closed=one.closed + 1)
        return made[-1]

    def grade(course, lab, answer, *, judge, **how):
        used.append(made.index(judge))
        judge.broken = how["seed"] == 2

    monkeypatch.setattr(batch, "judge_of", judge_of)
    monkeypatch.setattr(batch, "grade", grade)
    lab = tiny.lab("l01")
    jobs = [batch.Job("reference", reference_tree(tiny, lab), seed) for seed in (1, 2, 3, 4)]
    batch.grade_jobs(tiny, lab, jobs, jailed=False, at_once=1)
    assert used == [0, 0, 1, 1]
    assert [one.closed for one in made] == [1, 1]
