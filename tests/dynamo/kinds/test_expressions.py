"""Containers, iterators, text, numbers, NumPy and tensors, many expressions a program: compiled is plain, errors included."""

import collections
import copy
import enum
import functools
import itertools
import math
import operator
import re
import warnings

import numpy as np
import pytest

import weft

# ruff: noqa: E501, F401, F841
PROGRAMS = r"""
list_ops: a=[3,1,2]; a.sort(reverse=True); a.insert(-1,9); a[::2]=[7,7]; b=a.pop(0); a.remove(2) if 2 in a else a.append(5); return a,b,a.index(7),a.count(7),a*2,a+[1],a[::-1],x+1
list_errs: return errs(lambda:[1][5],lambda:[].pop(),lambda:[1].remove(2),lambda:[1].index(3),lambda:[1]["a"],lambda:[1,2].insert("a",1),lambda:[1]+(2,),lambda:[3,"a"].sort(),lambda:[1]*1.5,lambda:operator.setitem([1],5,0),lambda:operator.delitem([1],3)),x+1
slice_errs: return errs(lambda:[1,2,3].__setitem__(slice(0,2),5),lambda:operator.setitem([1,2,3],slice(0,3,2),[1]),lambda:[1,2]["a":],lambda:(1,2)[1.5],lambda:"abc"[None],lambda:"abc"[[1]],lambda:range(3)["a"]),x+1
dict_ops: d={"a":1}; d.update(b=2,**{"c":3}); d|={"d":4}; d.setdefault("e",[]).append(1); k=list(d); d.pop("a"); return d,k,d.popitem(),d.get("zz",0),{**d,"q":1},dict(zip("ab",[1,2])),dict.fromkeys("ab",0),x+1
dict_errs: return errs(lambda:{}["a"],lambda:{}.pop("a"),lambda:{}.popitem(),lambda:{[]:1},lambda:dict([1]),lambda:dict([(1,2,3)]),lambda:dict(5),lambda:{1:2}+{},lambda:{1:2}<{},lambda:{1:2}.foo,lambda:{}.update(5)),x+1
set_ops: a={1,2,3}; b=set("ab"); a.discard(9); a^={3,4}; return a,sorted(b),a|{9},a&{1,9},a-{1},a<={1,2,4,7},a.isdisjoint({8}),a.union([7],(8,)),frozenset(a)=={1,2,4},len(a),x+1
set_errs: return errs(lambda:{1}.remove(2),lambda:set().pop(),lambda:{1}|[2],lambda:{1}<[2],lambda:{1}.add([]),lambda:{1}[0],lambda:{1}+{2},lambda:frozenset().add(1),lambda:set(5)),x+1
tuple_ops: t=(1,2,3); a,*b,c=t; return t+t,t*2,t[1:],t.index(2),t.count(1),hash(t),(1,2)<(1,3),b,c,max(t),t==(1,2,3),x+1
unpack_errs: return errs(lambda:exec_unpack(2,[1]),lambda:exec_unpack(2,[1,2,3]),lambda:exec_unpack(2,5),lambda:exec_unpack(2,None)),x+1
deque_ops: d=collections.deque([1,2,3],maxlen=3); d.append(4); d.appendleft(0); d.rotate(1); d.extend([8,9]); return list(d),d[0],d.maxlen,len(d),d==collections.deque(d),repr(d),x+1
deque_errs: return errs(lambda:collections.deque().pop(),lambda:collections.deque([1])[3],lambda:collections.deque([1])[0:1],lambda:collections.deque([1])["a"],lambda:collections.deque([1]).remove(5),lambda:collections.deque([1]).index(5),lambda:collections.deque([1])+[1],lambda:collections.deque([1],2).insert(0,1) or collections.deque([1],1).insert(0,1)),x+1
zips: return list(zip([1,2],"ab")),list(enumerate("ab",2)),list(map(lambda a,b:a+b,[1,2],[3,4])),list(filter(None,[0,1,"",2])),errs(lambda:list(zip([1],[1,2],strict=True)),lambda:zip(5),lambda:map(),lambda:list(map(len,[5]))),x+1
iters: it=iter([1,2,3]); a=next(it); b=list(it); c=next(it,"d"); g=(i*i for i in range(4)); return a,b,c,sum(g),list(g),next(iter({}),None),errs(lambda:next(iter([])),lambda:next([]),lambda:iter(5),lambda:reversed({1}),lambda:iter(5,1)),x+1
itertools_: return list(itertools.chain([1],(2,))),list(itertools.islice(itertools.count(5,2),3)),list(itertools.product("ab",[1,2])),list(itertools.accumulate([1,2,3],operator.mul)),[(k,list(g)) for k,g in itertools.groupby("aab")],list(itertools.zip_longest("ab","c",fillvalue=0)),list(itertools.permutations([1,2,3],2))[:3],list(itertools.combinations("abc",2)),list(itertools.takewhile(lambda v:v<2,[1,2,1])),x+1
strs: s="Hello, World"; return s.lower(),s.split(", "),s.replace("l","L"),s.find("o"),s[::-1],s.title(),s.center(20,"*"),s.partition(","),"-".join(["a","b"]),s.startswith(("He","x")),s.encode().hex(),"a" in s,s*2,"%s|%5.2f|%-4d|"%("a",1.5,3),x+1
str_errs: return errs(lambda:"a"+1,lambda:"a"*"b",lambda:"a".join([1]),lambda:"%d"%"a",lambda:"%s %s"%("a",),lambda:"{}{}".format(1),lambda:"{a}".format(b=1),lambda:int("x"),lambda:float("y"),lambda:"a"<1,lambda:1 in "a",lambda:ord("ab"),lambda:chr(-1),lambda:"abc".foo,lambda:"a".index("z")),x+1
fmt: v=3.14159; n=42; return f"{v:.2f}{n:05d}{n:x}{n!r:>6}{'a':^5}{n:,}{v:e}{n:b}{True}{None}{[1,'a']}{ {'k':1} }{(1,)}",format(v,".3f"),"{0:>{1}}".format("a",5),f"{x.shape}",str(n),repr("a\n"),x+1
fmt_errs: return errs(lambda:format([],"5"),lambda:format(5,"q"),lambda:f"{None:5}",lambda:format("a","d"),lambda:format(1,2),lambda:f"{(1,):>5}"),x+1
nums: return 7//2,-7//2,7%3,-7%3,divmod(-7,2),2**10,2**-1,round(2.5),round(3.14159,2),abs(-3),int("0x1f",16),int(3.9),float("1e3"),bin(5),hex(255),oct(8),pow(3,4,5),1e308*10,5&3,5|3,5^3,~5,1<<4,complex(1,2)*1j,math.floor(2.7),math.gcd(12,18),sum([0.1]*10),x+1
num_errs: return errs(lambda:1/0,lambda:1//0,lambda:1%0,lambda:0**-1,lambda:1<<-1,lambda:1.5&1,lambda:int(None),lambda:int([]),lambda:float([]),lambda:complex("a"),lambda:round("a"),lambda:abs("a"),lambda:-"a",lambda:+[],lambda:~1.5,lambda:pow(2,"a"),lambda:divmod(1,"a"),lambda:math.sqrt(-1),lambda:int(float("nan")),lambda:hex(1.5),lambda:range(1.5),lambda:range(0,1,0)),x+1
aggs: return max([3,1,2]),min("b","a"),max([],default=7),max([1,-5],key=abs),sum([[1],[2]],[]),any([0,1]),all([]),sorted("bca",reverse=True),sorted([3,1],key=lambda v:-v),len(range(0,10,3)),errs(lambda:max([]),lambda:max(1),lambda:sum(["a"]),lambda:sum([1],""),lambda:sorted([1,"a"]),lambda:len(5),lambda:max(),lambda:min(1,"a")),x+1
attrs: return errs(lambda:(1).foo,lambda:[].foo,lambda:setattr([],"a",1),lambda:setattr((),"append",1),lambda:delattr({},"a"),lambda:getattr(1,2),lambda:hasattr(1,2),lambda:None.x,lambda:len.foo,lambda:range(3).foo),hasattr([],"append"),hasattr((),"append"),getattr(5,"zz",None),hasattr(x,"shape"),hasattr(x,"foo"),callable(x),callable(len),callable([]),x+1
insts: return isinstance(1,(int,str)),isinstance(True,int),isinstance([],collections.abc.Sequence),isinstance({},collections.abc.Mapping),isinstance(x,weft.Tensor),issubclass(bool,int),type([]) is list,type(x.shape).__name__,isinstance(1,int|str),isinstance(len,collections.abc.Callable),isinstance(iter([]),collections.abc.Iterator),errs(lambda:isinstance(1,5),lambda:issubclass(1,int),lambda:isinstance(1,(int,5) if False else 5)),x+1
calls: return errs(lambda:(5)(),lambda:"a"(),lambda:None(),lambda:[](1),lambda:len(),lambda:len(1,2),lambda:len([],a=1),lambda:(lambda a:a)(),lambda:(lambda:1)(2),lambda:(lambda *,k:k)(),lambda:print(sep=1) if False else sorted(),lambda:max(key=5)),x+1
comps: return [i*j for i in range(3) for j in range(i) if i!=j],{k:v for k,v in zip("ab",[1,2])},{i%2 for i in range(4)},[[j for j in range(i)] for i in range(3)],x+1
named: P=collections.namedtuple("P","a b"); q=P(1,b=2); return q,q.a,q._replace(a=5),q._asdict(),q+(1,),P._fields,q==(1,2),errs(lambda:q.zz,lambda:q._replace(zz=1)),x+1
opmod: return operator.itemgetter(1,0)([5,6]),operator.attrgetter("real")(5),operator.methodcaller("upper")("a"),functools.reduce(operator.add,[1,2,3]),operator.concat([1],[2]),operator.countOf([1,1],1),operator.truediv(1,2),operator.index(3),x+1
tens: a=x*2; a+=1; b=a[1:]; b[0]=9; c,*d=a; return a,b,c,len(d),a.shape[0]*2,[v for v in a],a.dtype,a.ndim,(a>2),-a,abs(-a),a**2,2**a,a@a,1-a,a//2,a%3,5/a
tens_errs: return errs(lambda:x+"a",lambda:x+None,lambda:x@weft.ones(3),lambda:x+weft.ones(3),lambda:x[7],lambda:len(weft.tensor(1.)),lambda:iter(weft.tensor(1.)),lambda:x.foo,lambda:x<"a",lambda:x.view(3),lambda:x&1,lambda:weft.cat([]),lambda:round(x)),x+1
npy: a=np.arange(4.); b=a*2+1; b[1:3]=7; return b,a.sum(),a.mean(),a>1,a[::2],b.astype(np.int32) if False else b,np.where(a>1,a,0),np.maximum(a,2),a@a,a.reshape(2,2).T,a.shape,np.sqrt(a),-a,a.max(),np.concatenate([a,b]),np.stack([a,a]).sum(0),a.dtype,len(a)
npy_int: a=np.arange(4,dtype=np.uint8); return a+1,a*2,a>-1,a<300,a-1,errs(lambda:a+300,lambda:a*-1,lambda:a+1.5),a/2,a//2,a%3,a<<1,a.sum(),a==2,a.astype(np.int64)*1000
npy_scalar: v=np.float32(1.5); a=np.ones(3,np.float32); return a*v,v*a,v*2,a.sum()*2,float(v),int(np.int64(3)),np.float64(2)**2,x*v,v*x,type(a.sum()).__name__,a[0]+1,[1,2][np.int64(1)]
npy_errs: a=np.ones(3); return errs(lambda:a+np.ones(4),lambda:a["a"],lambda:a[5],lambda:a.foo,lambda:a.reshape(2),lambda:a+None,lambda:hash(a),lambda:np.ones(2)@np.ones(3),lambda:a.sum(axis=3),lambda:len(a.sum()))
enums: E=Color; return E.RED.value,E["RED"],E(1),list(E),E.RED is E.RED,E.RED==1,E.RED.name,errs(lambda:E(9),lambda:E["X"],lambda:E.FOO),isinstance(E.RED,E),x+1
gens: return list(gen(3)),sum(gen(4)),dict(enumerate(gen(2))),max(gen(3)),tuple(gen(1)),[*gen(2),*gen(1)],list(itertools.islice(gen(9),2)),gen_ret(),x+1
walrus: return [y:=5,y**2],(n:=len("abc"))+n,[z for v in [1,2] if (z:=v*2)>2],x+1
match_: return [mm(v) for v in (1,"a",[1,2],(1,2,3),{"k":1},None,2.5,Color.RED)],x+1
identity: a=[1]; b=a; return a is b,a is not [1],None is None,(1,2) is None,x is x,x is not None,1 in [1.0],float("nan") in [float("nan")],[a]==[b],x+1
copyings: a=[[1],{"k":[2]}]; b=copy.copy(a); c=copy.deepcopy(a); b[0].append(9); return a,b,c,b[0] is a[0],c[0] is a[0],x+1
"""


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def gen(n):
    for i in range(n):
        yield i * 2


def gen_ret():
    def g():
        r = yield 1
        return r

    def h():
        v = yield from g()
        yield v

    k = h()
    return next(k), k.send(5)


def exec_unpack(n, v):
    a, b = v
    return a


def mm(v):
    match v:
        case int():
            return "int"
        case str():
            return "str"
        case [a, b]:
            return "two"
        case [a, *b]:
            return "seq"
        case {"k": q}:
            return q
        case None:
            return "none"
        case float():
            return "f"
        case _:
            return "other"


def errs(*fs):
    out = []
    for f in fs:
        try:
            out.append(("ok", f()))
        except Exception as e:
            out.append((type(e).__name__, str(e)))
    return out


SPACE = dict(globals())
NAMES = []
for _line in PROGRAMS.strip().split("\n"):
    _name, _body = _line.split(": ", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(f"def {_name}(x):\n    {_body}", f"<program {_name}>", "exec"), SPACE)
    NAMES.append(_name)


def told(f, x):
    """The text of what the program gives or raises, without addresses."""
    SPACE["x"] = x
    try:
        text = repr(f(x))
    except Exception as e:
        text = "raises " + repr(e)
    return re.sub("0x[0-9a-f]+", "", text)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_compiled_is_plain(name):
    weft.compiler.reset()
    f = SPACE[name]
    compiled = weft.compile(f, backend="eager")
    for k in range(3):
        assert told(compiled, weft.arange(4.0) + k) == told(f, weft.arange(4.0) + k)
