"""The study editor: a study file as forms, one section at a time, beside the pages that people will see.

In: a shipped file, a study that the account may see, or a file of its own, as the text of a working copy.
Out: the same text, changed only where a form was; a study or a new version, by the same rules as an upload.
"""
