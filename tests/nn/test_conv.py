import doctest
import inspect

import numpy as np
import pytest
import torch

import sphunc
import sphunc.nn.conv as conv_module
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.nn.conv import AngularHypergraphConv
from sphunc.nn.projection import normalise

INDEX = torch.tensor([[0, 1, 2, 1, 3, 4, 2, 3], [0, 0, 0, 2, 2, 3, 4, 4]])


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def made(in_dim=3, out_dim=5):
    return AngularHypergraphConv(in_dim, out_dim, generator=generator(1)).double()


def features(nodes=6, in_dim=3):
    return torch.randn(nodes, in_dim, generator=generator(), dtype=torch.float64)


def transcribed(conv, x, index, weight):
    z = x @ conv.projection.T + conv.bias
    z = z / z.norm(dim=1, keepdim=True)
    members = [index[0][index[1] == e].tolist() for e in range(len(weight))]
    rows = []
    for i in range(len(x)):
        mine = [(w, [j for j in m if j != i]) for w, m in zip(weight, members, strict=True) if i in m and len(m) > 1]
        pooled = 0 * z[i]
        for w, others in mine:
            alpha = torch.softmax(torch.stack([conv.log_sharpness.exp() * z[i] @ z[j] for j in others]), 0)
            pooled = pooled + w / sum(v for v, _ in mine) * (alpha @ z[others])
        raw = z[i] + (conv.weight @ pooled).clamp(min=0)
        rows.append(raw / raw.norm())
    return torch.stack(rows)


def test_public_name():
    assert sphunc.AngularHypergraphConv is AngularHypergraphConv


def test_example_in_the_docstring():
    names = {"AngularHypergraphConv": AngularHypergraphConv, "torch": torch}
    assert doctest.testmod(conv_module, extraglobs=names).failed == 0


@pytest.mark.parametrize("weight", [[1.0] * 5, [2.0, 1.0, 0.5, 3.0, 0.25]])
def test_convolution_is_its_equation(weight):
    conv, x, weight = made(), features(), torch.tensor(weight, dtype=torch.float64)
    torch.testing.assert_close(conv(x, INDEX, weight), transcribed(conv, x, INDEX, weight))


def test_equal_weights_are_no_weights_and_other_weights_matter():
    conv, x = made(), features()
    plain = conv(x, INDEX)
    torch.testing.assert_close(conv(x, INDEX, torch.full((5,), 7.0).double()), plain)
    assert not torch.allclose(conv(x, INDEX, torch.tensor([1.0, 1, 9, 1, 1]).double()), plain)


def test_gradients_in_features_and_weights():
    conv, weight = made(), torch.linspace(0.5, 2, 5, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, w: conv(x, INDEX, w), (features().requires_grad_(), weight))


def test_order_of_memberships_does_not_matter():
    conv, x = made(), features()
    torch.testing.assert_close(conv(x, INDEX.flip(1)), conv(x, INDEX))


def test_renaming_nodes_renames_the_result():
    conv, x, name_of = made(), features(), torch.tensor([3, 0, 5, 1, 2, 4])
    after = conv(torch.empty_like(x).index_copy(0, name_of, x), torch.stack([name_of[INDEX[0]], INDEX[1]]))
    torch.testing.assert_close(after[name_of], conv(x, INDEX))


def test_without_groups_only_the_projection_is_left():
    conv, x = made(), features()
    alone = normalise(x @ conv.projection.T)
    torch.testing.assert_close(conv(x, torch.empty(2, 0, dtype=torch.long)), alone)
    torch.testing.assert_close(conv(x, INDEX)[[4, 5]], alone[[4, 5]])
    torch.testing.assert_close(conv(x, torch.tensor([[0, 1], [0, 1]])), alone)


def test_stated_number_of_edges_and_int32_indices_are_taken():
    conv, x = made(), features()
    torch.testing.assert_close(conv(x, INDEX.int(), num_edges=9), conv(x, INDEX))
    assert repr(conv) == "AngularHypergraphConv(3, 5)"
    assert made(3, 5).bias is not None
    assert AngularHypergraphConv(3, 5, bias=False).bias is None


def test_positions_are_those_of_pyg():
    pyg = pytest.importorskip("torch_geometric.nn").HypergraphConv
    ours = list(inspect.signature(AngularHypergraphConv.forward).parameters)
    assert ours == list(inspect.signature(pyg.forward).parameters)
    conv, x, weight = made(), features(), torch.linspace(0.5, 2, 5, dtype=torch.float64)
    torch.testing.assert_close(conv(x, INDEX, weight, None, 5), conv(x, INDEX, weight))


def test_the_same_seed_gives_the_same_weights_again():
    conv = AngularHypergraphConv(np.int64(3), 5, generator=generator(1))
    drawn = generator(1)
    torch.testing.assert_close(conv.projection, torch.randn(5, 3, generator=drawn) / 5**0.5, rtol=0, atol=0)
    torch.testing.assert_close(conv.weight, torch.randn(5, 5, generator=drawn) / 5**0.5, rtol=0, atol=0)
    first = {name: value.clone() for name, value in conv.state_dict().items()}
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter.add_(1)
    conv.double().reset_parameters(generator(1))
    for name, value in conv.state_dict().items():
        torch.testing.assert_close(value, first[name].double(), rtol=0, atol=0)
    conv.reset_parameters(generator(2))
    assert not torch.allclose(conv.weight, first["weight"].double())
    assert conv.weight.requires_grad


def test_without_a_generator_weights_come_from_that_of_torch():
    with torch.random.fork_rng():
        torch.manual_seed(3)
        conv = AngularHypergraphConv(3, 5, bias=False)
        first = conv.weight.detach().clone()
        torch.manual_seed(3)
        conv.reset_parameters()
    torch.testing.assert_close(conv.weight.detach(), first, rtol=0, atol=0)


# Small groups go over pairs, one of 40 over tiles, one of 600 over blocks.
SIZES = [3, 40, 600]


def one_group_of(size):
    return torch.stack([torch.arange(size), torch.zeros(size, dtype=torch.long)])


def with_gradient(conv, x, index, weight):
    conv.zero_grad()
    out = conv(x, index, weight)
    out[:, 0].sum().backward()
    return out.detach(), conv.weight.grad.clone()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_narrower_types_are_near_double(dtype, size):
    conv, x, weight = made().to(dtype), features(size).to(dtype), torch.ones(1, dtype=dtype)
    out, grad = with_gradient(conv, x, one_group_of(size), weight)
    assert out.dtype == grad.dtype == dtype
    exact, exact_grad = with_gradient(conv.double(), x.double(), one_group_of(size), weight.double())
    near = 8 * torch.finfo(dtype).eps
    torch.testing.assert_close(out.double(), exact, rtol=near, atol=near)
    torch.testing.assert_close(grad.double(), exact_grad, rtol=near, atol=near * float(exact_grad.abs().max()))


@pytest.mark.parametrize("size", SIZES)
def test_autocast_is_near_float(size):
    conv, x = made().float(), features(size).float()
    exact, exact_grad = with_gradient(conv, x, one_group_of(size), None)
    conv.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = conv(x, one_group_of(size))
        assert conv(x.bfloat16(), one_group_of(size)).dtype == torch.bfloat16
    out[:, 0].sum().backward()
    near = 8 * torch.finfo(torch.bfloat16).eps
    assert out.dtype == torch.float32
    torch.testing.assert_close(out, exact, rtol=near, atol=near)
    atol = near * float(exact_grad.abs().max())
    torch.testing.assert_close(conv.weight.grad, exact_grad, rtol=near, atol=atol)


def test_faulty_calls_are_refused():
    conv = made()
    with pytest.raises(ArgumentError, match="x has 4 features, but the layer was made with in_dim=3"):
        conv(features(in_dim=4), INDEX)
    with pytest.raises(ArgumentError, match="hyperedge_index has 3 rows; it takes 2"):
        conv(features(), torch.zeros(3, 2, dtype=torch.long))
    with pytest.raises(ArgumentError, match=r"hyperedge_index\[0\] holds 4, but x has 4 rows"):
        conv(features(4), INDEX)
    with pytest.raises(ArgumentError, match=r"hyperedge_index\[1\] holds 4, but num_edges is 2"):
        conv(features(), INDEX, num_edges=2)
    with pytest.raises(ArgumentError, match="num_edges=-1 must be at least 0"):
        conv(features(), INDEX, num_edges=-1)
    with pytest.raises(ArgumentError, match="out_dim=0 must be at least 1"):
        AngularHypergraphConv(3, 0)
    with pytest.raises(ArgumentTypeError, match="x is on cpu, hyperedge_index on meta"):
        conv(features(), INDEX.to("meta"))
    with pytest.raises(ArgumentTypeError, match=r"x has dtype torch.float32, but the layer has torch.float64"):
        conv(features().float(), INDEX)
    with pytest.raises(ArgumentTypeError, match=r"hyperedge_index has dtype torch.float64"):
        conv(features(), INDEX.double())
    with pytest.raises(ArgumentError, match=r"hyperedge_weight\[0\] is nan"):
        conv(features(), INDEX, torch.full((5,), torch.nan).double())
    with pytest.raises(ArgumentError, match="hyperedge_attr is a Tensor; leave it None"):
        conv(features(), INDEX, None, torch.ones(5, 3).double())


def test_other_types_than_those_annotated_are_refused_in_words():
    # Without the checks of annotations that only tests have.
    construct, call = inspect.unwrap(AngularHypergraphConv.__init__), inspect.unwrap(AngularHypergraphConv.forward)
    with pytest.raises(ArgumentTypeError, match="in_dim='3' must be a whole number, got str"):
        construct(made(), "3", 5)
    with pytest.raises(ArgumentTypeError, match=r"out_dim=5\.0 must be a whole number, got float"):
        construct(made(), 3, 5.0)
    with pytest.raises(ArgumentTypeError, match=r"generator must be a torch.Generator or None; got 0 of type int"):
        inspect.unwrap(AngularHypergraphConv.reset_parameters)(made(), 0)
    with pytest.raises(ArgumentTypeError, match="x is a list; give a torch tensor"):
        call(made(), features().tolist(), INDEX)
    with pytest.raises(ArgumentTypeError, match="hyperedge_index is a list; give a torch tensor"):
        call(made(), features(), INDEX.tolist())
    with pytest.raises(ArgumentTypeError, match=r"num_edges=5\.0 must be a whole number, got float"):
        call(made(), features(), INDEX, num_edges=5.0)


def test_hyperedges_may_be_numbered_far_apart():
    far = torch.stack([INDEX[0], INDEX[1] * 10**15])
    assert torch.equal(made()(features(), far), made()(features(), INDEX))
