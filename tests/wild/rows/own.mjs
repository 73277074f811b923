// Servers that few use, each with a guess that was written down before it ran: the status, and the headers among those that say when to
// come again or that an answer is a replay. The table says which were right.
import { join } from 'node:path'
import { WINDOW_S } from '../cases.mjs'
import { apache } from './gateways.mjs'

const guess = (status, ...headers) => ({ status, headers })
const gateway = ['dead', 'slow']

export default [
  {
    name: 'lighttpd',
    from: 'debian',
    packages: ['lighttpd'],
    cases: gateway,
    guesses: { dead: guess(503), slow: guess(504) },
    files: ({ folder, port, origin }) => ({
      'lighttpd.conf': `
server.modules = ( "mod_proxy" )
server.bind = "127.0.0.1"
server.port = ${port}
server.document-root = "${folder}"
proxy.server = ( "" => ( ( "host" => "127.0.0.1", "port" => ${origin}, "read-timeout" => 1 ) ) )
`,
    }),
    command: ({ folder }) => [
      join(folder, 'usr/sbin/lighttpd'),
      ['-D', '-m', join(folder, 'usr/lib/lighttpd'), '-f', join(folder, 'lighttpd.conf')],
    ],
  },
  {
    name: 'Caddy',
    from: 'debian',
    packages: ['caddy'],
    cases: gateway,
    guesses: { dead: guess(502), slow: guess(504) },
    files: ({ port, origin }) => ({
      Caddyfile: `
{
  admin off
  auto_https off
}
http://127.0.0.1:${port} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${origin} {
    transport http {
      response_header_timeout 1s
    }
  }
}
`,
    }),
    command: ({ folder }) => [
      join(folder, 'usr/bin/caddy'),
      ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'],
    ],
  },
  {
    name: 'Squid, as accelerator',
    from: 'debian',
    packages: ['squid', 'squid-common', 'squid-langpack'],
    cases: gateway,
    guesses: { dead: guess(503), slow: guess(504) },
    files: ({ folder, port, origin }) => ({
      'squid.conf': `
http_port 127.0.0.1:${port} accel defaultsite=127.0.0.1
cache_peer 127.0.0.1 parent ${origin} 0 no-query originserver
http_access allow all
cache deny all
read_timeout 1 second
visible_hostname localhost
pid_filename none
access_log none
cache_log /dev/null
cache_store_log none
pinger_enable off
unlinkd_program ${folder}/usr/lib/squid/unlinkd
logfile_daemon ${folder}/usr/lib/squid/log_file_daemon
netdb_filename none
icon_directory ${folder}/usr/share/squid/icons
error_directory ${folder}/usr/share/squid/errors/English
mime_table ${folder}/usr/share/squid/mime.conf
`,
    }),
    command: ({ folder }) => [join(folder, 'usr/sbin/squid'), ['-N', '-f', join(folder, 'squid.conf')]],
  },
  {
    name: 'tinyproxy, in reverse',
    from: 'debian',
    packages: ['tinyproxy-bin'],
    cases: gateway,
    guesses: { dead: guess(500), slow: guess(0) },
    files: ({ port, origin }) => ({
      'tinyproxy.conf': `
Port ${port}
Listen 127.0.0.1
Timeout 1
ReverseOnly Yes
ReversePath "/" "http://127.0.0.1:${origin}/"
`,
    }),
    command: ({ folder }) => [join(folder, 'usr/bin/tinyproxy'), ['-d', '-c', join(folder, 'tinyproxy.conf')]],
  },
  {
    name: 'nghttpx',
    from: 'debian',
    packages: ['nghttp2-proxy'],
    cases: gateway,
    guesses: { dead: guess(503), slow: guess(504) },
    command: ({ folder, port, origin }) => [
      join(folder, 'usr/sbin/nghttpx'),
      [
        `--frontend=127.0.0.1,${port};no-tls`,
        `--backend=127.0.0.1,${origin}`,
        '--backend-read-timeout=1s',
        '--workers=1',
        '--conf=/dev/null',
      ],
    ],
  },
  {
    name: 'Apache mod_evasive',
    from: 'debian',
    packages: ['libapache2-mod-evasive', 'apache2-bin'],
    cases: ['limited'],
    guesses: { limited: guess(403) },
    ...apache(
      ['evasive20'],
      `
DOSPageCount 2
DOSPageInterval ${WINDOW_S}
DOSSiteCount 1000
DOSBlockingPeriod ${WINDOW_S}
`,
    ),
  },
  {
    name: 'Apache mod_qos',
    from: 'debian',
    packages: ['libapache2-mod-qos', 'apache2-bin'],
    cases: ['limited'],
    guesses: { limited: guess(500) },
    ...apache(
      ['setenvif', 'unique_id', 'qos'],
      `
SetEnvIf Request_URI ^/orders QS_Limit=yes
QS_ClientEventLimitCount 2 ${WINDOW_S}
`,
      // Debian's module needs it, and does not name it
      ({ folder }) => `LoadFile ${folder}/lib/x86_64-linux-gnu/libpcre.so.3`,
    ),
  },
  {
    name: 'hono-rate-limiter',
    from: 'npm',
    packages: ['hono-rate-limiter@0.5.4', 'hono@4.13.19', '@hono/node-server@2.1.8'],
    cases: ['limited'],
    guesses: {
      limited: guess(
        429,
        'ratelimit-limit',
        'ratelimit-policy',
        'ratelimit-remaining',
        'ratelimit-reset',
        'retry-after',
      ),
    },
    app: `
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { rateLimiter } from 'hono-rate-limiter'
import { host as hostname, port } from './work.mjs'

const app = new Hono()
app.use(rateLimiter({ windowMs: ${WINDOW_S * 1000}, limit: 2, keyGenerator: () => 'everyone' }))
app.get('/orders/', (context) => context.json({ ok: true }))
serve({ fetch: app.fetch, port, hostname })
`,
  },
  {
    name: 'Quart-Rate-Limiter',
    from: 'pypi',
    packages: ['quart-rate-limiter==0.12.1', 'quart==0.22.0', 'uvicorn==0.54.0'],
    cases: ['limited'],
    guesses: { limited: guess(429, 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after') },
    app: `
from datetime import timedelta

from quart import Quart
from quart_rate_limiter import RateLimiter, rate_limit

app = Quart(__name__)
RateLimiter(app)


@app.get("/orders/")
@rate_limit(2, timedelta(seconds=${WINDOW_S}))
async def orders():
    return {"ok": True}
`,
  },
  {
    name: 'asgi-ratelimit',
    from: 'pypi',
    packages: ['asgi-ratelimit==0.10.0', 'starlette==1.10.0', 'uvicorn==0.54.0'],
    cases: ['limited'],
    guesses: { limited: guess(429, 'retry-after') },
    app: `
from ratelimit import RateLimitMiddleware, Rule
from ratelimit.backends.simple import MemoryBackend
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


async def orders(request):
    return JSONResponse({"ok": True})


async def everyone(scope):
    return "everyone", "default"


app = RateLimitMiddleware(
    Starlette(routes=[Route("/orders/", orders)]),
    everyone,
    MemoryBackend(),
    {"^/orders": [Rule(second=2, block_time=${WINDOW_S})]},
)
`,
  },
  {
    name: 'django-ratelimit',
    from: 'pypi',
    packages: ['django-ratelimit==4.1.0', 'django==5.2.19', 'waitress==3.0.2'],
    serve: 'waitress',
    cases: ['limited'],
    guesses: { limited: guess(403) },
    app: `
from django.conf import settings

settings.configure(SECRET_KEY="a key of a test", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__)

from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse
from django.urls import path
from django_ratelimit.decorators import ratelimit


@ratelimit(key="ip", rate="2/${WINDOW_S}s")
def orders(request):
    return JsonResponse({"ok": True})


urlpatterns = [path("orders/", orders)]
app = get_wsgi_application()
`,
  },
  {
    name: 'mobius-idempotence-library',
    from: 'pypi',
    packages: ['mobius-idempotence-library==0.2.1', 'fastapi==0.163.2', 'uvicorn==0.54.0'],
    cases: ['in progress', 'in progress, 504', 'replaying', 'failed once'],
    guesses: {
      'in progress': guess(409),
      replaying: guess(201, 'idempotent-replayed'),
      'failed once': guess(201),
    },
    app: `
from fastapi import FastAPI, HTTPException
from mobius_idempotence import IdempotencyConfig, IdempotencyManager, idempotent
from mobius_idempotence.backends.memory import MemoryBackend
from pydantic import BaseModel

from work import work_async

app = FastAPI()
manager = IdempotencyManager(MemoryBackend(), IdempotencyConfig())


class Order(BaseModel):
    id: str
    ms: int = 0
    failures: int = 0


@app.post("/orders/", status_code=201)
@idempotent(manager, status_code=201)
async def create(order: Order):
    status, body = await work_async(order.model_dump())
    if status != 201:
        raise HTTPException(status, body)
    return body
`,
  },
]
