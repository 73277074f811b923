// Gateways of Debian before an origin that is away, or slower than they wait; and one that limits.
import { join } from 'node:path'
import { WINDOW_S } from '../cases.mjs'

const cases = ['dead', 'slow']

/** Apache with a few modules; `more` gives further lines, and `first` those that come before modules are loaded. */
export const apache = (modules, more, first = () => '') => ({
  files: (place) => ({
    'httpd.conf': `
ServerRoot "${place.folder}"
ServerName 127.0.0.1
Listen 127.0.0.1:${place.port}
PidFile "${place.folder}/httpd.pid"
DefaultRuntimeDir "${place.folder}"
ErrorLog "${place.folder}/error.log"
User www-data
Group www-data
StartServers 1
ServerLimit 1
ThreadsPerChild 25
MaxRequestWorkers 25
${first(place)}
${['mpm_event', 'authz_core', 'proxy', 'proxy_http', ...modules].map((name) => `LoadModule ${name}_module "${place.folder}/usr/lib/apache2/modules/mod_${name}.so"`).join('\n')}
ProxyTimeout 1
ProxyPass / http://127.0.0.1:${place.origin}/
${more}
`,
  }),
  command: ({ folder }) => [join(folder, 'usr/sbin/apache2'), ['-D', 'FOREGROUND', '-f', join(folder, 'httpd.conf')]],
})

const nginx = (server) => ({
  files: ({ folder, port, origin }) => ({
    'nginx.conf': `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  limit_req_zone $binary_remote_addr zone=callers:1m rate=30r/m;
  server {
    listen 127.0.0.1:${port};
    location = /ready { return 204; }
    location / { ${server} proxy_pass http://127.0.0.1:${origin}; proxy_read_timeout 1s; }
  }
}
`,
  }),
  command: ({ folder }) => [
    join(folder, 'usr/sbin/nginx'),
    ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')],
  ],
})

export default [
  { name: 'nginx', from: 'debian', packages: ['nginx'], cases, ...nginx('') },
  {
    name: 'nginx, limit_req',
    from: 'debian',
    packages: ['nginx'],
    cases: ['limited'],
    ...nginx('limit_req zone=callers;'),
  },
  {
    name: 'nginx, limit_req with 429',
    from: 'debian',
    packages: ['nginx'],
    cases: ['limited'],
    ...nginx('limit_req zone=callers; limit_req_status 429;'),
  },
  {
    name: 'HAProxy',
    from: 'debian',
    packages: ['haproxy'],
    cases: ['limited', ...cases],
    // its rate slides, and forgets a request after twice the time that is given
    files: ({ port, origin }) => ({
      'haproxy.cfg': `
defaults
  mode http
  timeout connect 1s
  timeout client 30s
  timeout server 1s
frontend front
  bind 127.0.0.1:${port}
  stick-table type ip size 1k expire 1m store http_req_rate(${WINDOW_S / 2}s)
  http-request track-sc0 src if METH_GET
  http-request deny deny_status 429 if METH_GET { sc_http_req_rate(0) gt 2 }
  default_backend back
backend back
  server origin 127.0.0.1:${origin}
`,
    }),
    command: ({ folder }) => [join(folder, 'usr/sbin/haproxy'), ['-db', '-f', join(folder, 'haproxy.cfg')]],
  },
  { name: 'Apache httpd', from: 'debian', packages: ['apache2-bin'], cases, ...apache([], '') },
  {
    name: 'Varnish',
    from: 'debian',
    packages: ['varnish'],
    cases,
    files: ({ origin }) => ({
      'default.vcl': `
vcl 4.1;
backend origin { .host = "127.0.0.1"; .port = "${origin}"; .first_byte_timeout = 1s; }
`,
    }),
    command: ({ folder, port }) => [
      join(folder, 'usr/sbin/varnishd'),
      [
        '-F',
        '-j',
        'none',
        '-a',
        `127.0.0.1:${port}`,
        '-f',
        join(folder, 'default.vcl'),
        '-n',
        join(folder, 'work'),
        '-s',
        'malloc,16m',
      ],
    ],
  },
]
