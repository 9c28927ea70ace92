"""Images that tell a server who reads, links that run or lead away, in each way that Markdown knows."""

EXPECTED = "inert"
DEFENDS = "P13: only our own templates make links"
STRINGS = [
    "![](http://tracker.example/x.png)",
    "[click](javascript:alert(1)) [x](data:text/html,x)",
    "https://evil.example www.evil.example ftp://evil.example file:///etc/passwd",
    "<https://evil.example> <mailto:a@b.example> mailto:a@b.example xmpp:a@b.example",
    "[ref]: http://evil.example\n\n[ref] ![ref]",
    "[![x](http://a.example/i.png)](http://b.example)",
    "HTTPS://EVIL.EXAMPLE hTtP://evil.example",
    "evil.example/x\n[a]\n(http://b.example)",
]
