"""The drain hook: a leaving engine finishes the requests it has before it is told to stop.

The script waits five seconds, in which the Pod leaves the Services, and then reads the engine's own gauges each
second. It leaves on the second zero in a row, or when nothing answers properly; a slow answer means a busy engine. It
always ends five seconds before the grace period does and never fails. Members without an API of their own ask their
leader: it needs them until its last request is done.
"""

from app.kube.hook import JSON
from app.modeldeployment.render.gates import scheme
from app.modeldeployment.render.subject import Subject

DEFAULT_GRACE_SECONDS = 30
RESERVE_SECONDS = 5

# Arguments: address of the metrics (variables expand), seconds until the end, what finds the values of the gauges.
_SCRIPT = """\
import os,re,signal,ssl,sys,time
from urllib import request as r
url,end,gauges=sys.argv[1:]
signal.signal(signal.SIGALRM,lambda*_:os._exit(0))
signal.alarm(int(end))
tls=r.HTTPSHandler(context=ssl._create_unverified_context())
get=r.build_opener(r.ProxyHandler({}),tls).open
time.sleep(4)
zeros=0
while zeros<2:
 time.sleep(1)
 try:
  n=re.findall(gauges.encode(),get(os.path.expandvars(url),timeout=1).read())
  zeros=0 if sum(map(float,n)) else zeros+1
 except Exception as e:
  if not isinstance(getattr(e,'reason',e),(TimeoutError,ValueError)):break
  zeros=0
"""
# After a name come its labels, a space, or too early the end; what follows should be a number.
_VALUES = r"(?m)^%s(?:{.*}| |$)(.*)"


def grace_seconds(subject: Subject) -> int | None:
    """The Pod's grace period; None leaves it to Kubernetes, on a role that took over and states none."""
    stated = subject.role.termination_grace_period_seconds
    return stated if stated is not None or subject.unmanaged else DEFAULT_GRACE_SECONDS


def drain(subject: Subject, host: str) -> JSON:
    """The container's lifecycle; `host` is where the engine of this replica answers."""
    url = f"{scheme(subject)}://{host}:{subject.listening}/metrics"
    seconds = (grace_seconds(subject) or DEFAULT_GRACE_SECONDS) - RESERVE_SECONDS
    command = ["python3", "-c", _SCRIPT, url, str(seconds), _VALUES % subject.engine.gauges]
    return {"preStop": {"exec": {"command": command}}}
