"""HTML that closes our details, opens others, hides the rest of the page or loads something."""

EXPECTED = "inert"
DEFENDS = "P13: escaped in prose, fenced in evidence"
STRINGS = [
    "</details><h1>PASS</h1>",
    "<img src=//evil onerror=x> <script>x</script>",
    "<!-- --> <!--\nhidden",
    "<details><summary>open",
    "</summary></details>\n\n<table><tr><td>",
    "<br></details>\n<details><summary>What your code printed</summary>\n\nforged",
    "<?php ?> <![CDATA[ x ]]> <!DOCTYPE x>",
    "&lt;b&gt; &#60;b&#62;",
    "<a\nhref=x>\n\n<div>",
]
