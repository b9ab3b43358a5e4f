"""The editor of studies: a study file as forms, a section at a time, beside what people will see of it.

In: a shipped file, a study that somebody may see, or a file of their own, as the text of a working copy.
Out: the same text, changed only where a form was; a study or a new version through the same rules as an upload.
"""
