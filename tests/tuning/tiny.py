"""A BERT model so small that it trains in a second, and tools that it can learn."""

from pathlib import Path

from toolsearch.tools import Tool

SENTENCE = """
weather forecast city mail send draft calendar event meeting invoice pay refund order track parcel read write
delete create list the a an of for to my what is get show tool rain sun letter money day
"""


def parameters(*names: str) -> dict[str, object]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


TOOLS = (
    Tool(
        raw_name="get_forecast", source="sky", description="Get the weather.", input_schema=parameters("city")
    ),
    Tool(
        raw_name="get_rain",
        source="sky",
        description="Show the rain of a day.",
        input_schema=parameters("day"),
    ),
    Tool(raw_name="send_mail", source="post", description="Send a letter.", input_schema=parameters("draft")),
    Tool(raw_name="track_parcel", source="post", description="Track a parcel."),
    Tool(
        raw_name="create_event",
        source="plan",
        description="Create a meeting.",
        input_schema=parameters("day"),
    ),
    Tool(raw_name="pay_invoice", source="bank", description="Pay money for an invoice."),
    Tool(raw_name="refund_order", source="bank", description="Refund money of an order."),
)


def build_tiny_model(folder: Path) -> None:
    """Write a random BERT model of two layers that knows the words of `SENTENCE`."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    vocabulary = {
        word: i for i, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", ".", ":", *SENTENCE.split()))
    }
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
