from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0022_working_copies"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="draw", name="draw_once"),
        migrations.AddField(
            model_name="draw",
            name="chatbot",
            field=models.SlugField(default="", help_text="Each chatbot's people are asked the whole set."),
            preserve_default=False,
        ),
        migrations.AlterModelOptions(name="draw", options={"ordering": ["study", "chatbot", "number"]}),
        migrations.AddConstraint(
            model_name="draw",
            constraint=models.UniqueConstraint(fields=("study", "chatbot", "number"), name="draw_once"),
        ),
    ]
