"""The course as files: labs, holes, trees, submissions. Knows no pytest and no GitHub."""
