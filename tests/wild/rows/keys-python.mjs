// Idempotency keys in Python: Starlette and Django.
const cases = ['in progress', 'in progress, 504', 'replaying', 'failed once']
const starlette = ['starlette==1.10.0', 'uvicorn==0.54.0']

/** `more`: lines that make the `middleware` of the library. */
const starletteApp = (more) => `
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.routing import Route

from work import work_async
${more}

async def create(request):
    status, body = await work_async(await request.json())
    return JSONResponse(body, status_code=status)


app = Starlette(routes=[Route("/orders/", create, methods=["POST"])], middleware=[middleware])
`

/** `view`: lines that make the class \`Orders\`. A file is the database, since threads serve. */
const djangoApp = ({ apps, middleware = [], settings = '', view }) => `
import os

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="a key of a test",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(os.getcwd(), "app.db")}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "rest_framework", *${JSON.stringify(apps)}],
    MIDDLEWARE=${JSON.stringify(middleware)},
    ${settings}
)
django.setup()

from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.urls import path
from rest_framework.response import Response
from rest_framework.views import APIView

from work import work

call_command("migrate", verbosity=0)
${view}

urlpatterns = [path("orders/", Orders.as_view())]
app = get_wsgi_application()
`

const plainView = `

class Orders(APIView):
    def post(self, request):
        status, body = work(request.data)
        return Response(body, status=status)
`

export default [
  {
    name: 'asgi-idempotency-header',
    from: 'pypi',
    packages: ['asgi-idempotency-header==0.2.0', 'fastapi==0.163.2', 'redis==8.1.0', ...starlette],
    cases,
    app: starletteApp(`
from idempotency_header_middleware import IdempotencyHeaderMiddleware
from idempotency_header_middleware.backends import MemoryBackend

middleware = Middleware(IdempotencyHeaderMiddleware, backend=MemoryBackend())
`),
  },
  {
    name: 'fastapi-idempotency',
    from: 'pypi',
    packages: ['fastapi-idempotency==0.1.1', ...starlette],
    cases,
    app: starletteApp(`
from fastapi_idempotency import IdempotencyMiddleware

middleware = Middleware(IdempotencyMiddleware)
`),
  },
  {
    name: 'fastapi-idempotency-key',
    from: 'pypi',
    packages: ['fastapi-idempotency-key==0.1.1', ...starlette],
    cases,
    app: starletteApp(`
from fastapi_idempotency_key import IdempotencyMiddleware

middleware = Middleware(IdempotencyMiddleware)
`),
  },
  {
    name: 'drf-idempotency',
    from: 'pypi',
    packages: ['drf-idempotency==1.0.0', 'django==5.2.19', 'djangorestframework==3.18.3', 'waitress==3.0.2'],
    serve: 'waitress',
    cases,
    app: djangoApp({
      apps: ['drf_idempotency'],
      middleware: ['drf_idempotency.middleware.IdempotencyMiddleware'],
      view: plainView,
    }),
  },
  {
    name: 'drf-idempotencykey',
    from: 'pypi',
    packages: ['drf-idempotencykey==0.2.0', 'django==5.2.19', 'djangorestframework==3.18.3', 'waitress==3.0.2'],
    serve: 'waitress',
    cases,
    app: djangoApp({
      apps: ['drf_idempotencykey'],
      view: `
from django.contrib.auth.models import User
from drf_idempotencykey.mixins import DrfIdempotencyKeyMixin
from rest_framework.authentication import BaseAuthentication


class Everyone(BaseAuthentication):
    """Keys are kept for users that have logged in, and here everybody is one."""

    def authenticate(self, request):
        return User.objects.get_or_create(username="ann")[0], None


class Orders(DrfIdempotencyKeyMixin, APIView):
    authentication_classes = [Everyone]

    def post(self, request):
        status, body = work(request.data)
        return Response(body, status=status)
`,
    }),
  },
  {
    name: 'djangorestframework-idempotency-key',
    from: 'pypi',
    packages: [
      'djangorestframework-idempotency-key==1.0.3',
      'django==5.2.19',
      'djangorestframework==3.18.3',
      'waitress==3.0.2',
    ],
    serve: 'waitress',
    cases,
    app: djangoApp({
      apps: ['rest_framework_idempotency_key'],
      middleware: ['rest_framework_idempotency_key.middleware.IdempotencyKeyMiddleware'],
      settings: 'IDEMPOTENCY_KEY_LOCK_TIMEOUT=60,',
      view: `
from rest_framework_idempotency_key.decorators import simple_idempotency_key_method_ex


class Orders(APIView):
    @simple_idempotency_key_method_ex(request_getter=lambda args: args[1])
    def post(self, request):
        status, body = work(request.data)
        return Response(body, status=status)
`,
    }),
  },
]
