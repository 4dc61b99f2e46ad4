"""A cross-encoder so small that it loads in a moment."""

from pathlib import Path

from tests.tuning.tiny import build_tiny_model


def build_tiny_cross_encoder(folder: Path) -> None:
    """Write a random cross-encoder of two layers, as sentence-transformers reads one."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    build_tiny_model(folder)
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call, unused-ignore]
        tokenizer_file=str(folder / "tokenizer.json"),
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig.from_pretrained(folder, num_labels=1, initializer_range=0.5)
    BertForSequenceClassification(config).save_pretrained(folder)
