"""The replayable STAT cases about raters: kappa and what it hides, and p-values by permutation."""

import numpy as np
import pytest

from cases.loading import cases, every_case
from twopan.stats.agreement import cohen_kappa, percent_agreement
from twopan.stats.resampling import Undefined, permutation_p

FUNCTIONS = ("cohen_kappa", "cohen_kappa_table", "permutation_p")


def about_raters():
    try:
        found = [c["id"] for c in every_case() if c["input"].get("fn") in FUNCTIONS]
    except FileNotFoundError:
        found = ["STAT-"]
    return cases(*found)


def outcome_of(fn, given):
    if fn == "permutation_p":
        return {"p": permutation_p(given["exceed"], given["draws"])}
    if fn == "cohen_kappa_table":
        table = np.array(given["table"])
        a, b = np.repeat(np.argwhere(table >= 0), table.ravel(), axis=0).T
    else:
        a, b = given["a"], given["b"]
    agreement = percent_agreement(a, b).estimate
    try:
        found = cohen_kappa(a, b)
    except Undefined as why:
        return {"kappa": None, "percent_agreement": agreement, "reason": str(why)}
    warn = {"warn": "prevalence"} if found.skewed else {}
    return {"kappa": found.coefficient.estimate, "percent_agreement": agreement, **warn}


@pytest.mark.parametrize("case", about_raters())
def test_agreement_is_as_the_case_says(case):
    expected = case["expected"]
    outcome = outcome_of(case["input"]["fn"], case["input"]["args"])
    near = expected.get("tolerance", 1e-9)
    for field in expected.keys() - {"tolerance"}:
        value = expected[field]
        exact = value is None or isinstance(value, str)
        assert outcome[field] == (value if exact else pytest.approx(value, abs=near))
