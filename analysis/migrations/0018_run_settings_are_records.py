from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0017_owners"),
    ]

    operations = [
        # SP-RAG searched all conversations, toxic and redacted ones too, before runs could say so.
        migrations.RunSQL("UPDATE analysis_run SET toxic = true WHERE condition = 'sp-rag'", migrations.RunSQL.noop),
        migrations.AlterField(
            model_name="run",
            name="language",
            field=models.CharField(blank=True, max_length=30),
        ),
        migrations.AlterField(
            model_name="run",
            name="per_user",
            field=models.BooleanField(default=False),
        ),
        migrations.AlterField(
            model_name="run",
            name="toxic",
            field=models.BooleanField(default=False),
        ),
    ]
