"""Mentions of people and teams, addresses, issue numbers: whoever writes them in an error would call hundreds."""

EXPECTED = "inert"
DEFENDS = "P13: a zero-width space ends every name before it begins"
STRINGS = [
    "@org/team @user ada@example.org",
    "(@a)[@b]`@c`**@d** @e\u200b@f",
    "fixes #1, closes GH-2, org/repo#3",
    "``` @team\n``` @user",
    "@\\user \\@user &#64;user &commat;user",
]
