"""Commands to a CI runner in what a grading prints there: mask, error, output, group, in both of their forms."""

EXPECTED = "inert"
DEFENDS = "P13: a runner's commands are broken where a line could begin with them, wrapped lines as well"
STRINGS = [
    "::set-output name=verdict::PASS",
    "  ::error file=x,line=1::x\n\t::add-mask::a",
    "##[group]x ##[error]y",
    "::stop-commands::x\n::ADD-MASK::e\n##[Warning]",
    *("x" * number + "::add-mask::e " + "y " * number + "::set-env name=A::b" for number in range(20, 44)),
]
