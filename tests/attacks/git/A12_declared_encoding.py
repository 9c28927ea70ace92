"""A declared encoding under which Python would run other code than the lint reads."""

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "UTF-8 by declaration only; a byte order mark once, at byte 0"
SAYS = "declares the coding|byte order mark inside"


def commits(ground):
    for head in (b"# -*- coding: utf-7 -*-\n", b"#!x\r# vim: fileencoding=rot13\n", b"\xef\xbb\xbf#coding=latin1\n"):
        yield ground.commit({OPS: head + ground.right})
    for head in (b"# coding: unicode_escape\n", b"\x0c# coding: hz\n", b"\xef\xbb\xbf\xef\xbb\xbf"):
        yield ground.commit({OPS: head + ground.right})
