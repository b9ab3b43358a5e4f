from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="endpoint",
            name="tokenizer",
            field=models.CharField(
                blank=True,
                help_text="Path of the model's tokenizer.json; empty: tokens are estimated.",
                max_length=300,
            ),
        ),
    ]
