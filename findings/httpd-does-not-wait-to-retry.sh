#!/usr/bin/env bash
# Apache httpd 2.4.71 (Debian 12): a backend that refused a connection is asked again at once, whatever `retry=` says.
# Guess: as in the manual of `ProxyPass`: no request goes to it for 60 s, the default of `retry`, and callers get 503. Seen: that holds for a
# member of a balancer; a backend that `ProxyPass` names itself is asked at once, even with `retry=60` written out.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
cd "$dir"
apt-get -qq -o APT::Sandbox::User=root download apache2-bin=2.4.71-1~deb12u1 libapr1=1.7.2-3+deb12u1 libaprutil1=1.6.3-1+deb12u1
for file in *.deb; do dpkg-deb -x "$file" .; done
cat > run.mjs <<'JS'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const dir = process.cwd()
const listen = (server, port = 0) => new Promise((done) => server.listen(port, '127.0.0.1', () => done(server.address().port)))
const close = (server) => new Promise((done) => server.close(done))
const backend = () => createServer((_, response) => response.setHeader('connection', 'close').end('ok'))
const ports = []
for (let count = 0; count < 3; count++) {
  const server = backend()
  ports.push(await listen(server))
  await close(server)
}
const [front, alone, member] = ports
const modules = ['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'proxy_balancer', 'lbmethod_byrequests', 'slotmem_shm']
writeFileSync('httpd.conf', `
ServerRoot "${dir}"
ServerName 127.0.0.1
Listen 127.0.0.1:${front}
PidFile "${dir}/httpd.pid"
DefaultRuntimeDir "${dir}"
ErrorLog "${dir}/error.log"
User www-data
Group www-data
StartServers 1
ServerLimit 1
ThreadsPerChild 25
MaxRequestWorkers 25
${modules.map((name) => `LoadModule ${name}_module "${dir}/usr/lib/apache2/modules/mod_${name}.so"`).join('\n')}
ProxyPass /alone/ http://127.0.0.1:${alone}/ retry=60
<Proxy balancer://group>
  BalancerMember http://127.0.0.1:${member} retry=60
  ProxySet forcerecovery=Off
</Proxy>
ProxyPass /member/ balancer://group/
`)
const env = { ...process.env, LD_LIBRARY_PATH: join(dir, 'usr/lib', `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`) }
const httpd = spawn(join(dir, 'usr/sbin/apache2'), ['-D', 'FOREGROUND', '-f', join(dir, 'httpd.conf')], { env, stdio: 'inherit' })
const ended = new Promise((done) => httpd.once('exit', done))
const ask = async (path) => (await fetch(`http://127.0.0.1:${front}${path}`)).status
try {
  for (let tries = 0; ; tries++) {
    if (await ask('/ready').catch(() => 0)) break
    if (tries > 100) throw new Error('httpd did not start')
    await sleep(100)
  }
  const away = { alone: await ask('/alone/'), member: await ask('/member/') }
  const servers = [backend(), backend()]
  await listen(servers[0], alone)
  await listen(servers[1], member)
  const back = { alone: await ask('/alone/'), member: await ask('/member/') }
  for (const server of servers) await close(server)
  console.log(`both away: ${JSON.stringify(away)}; both back, at once: ${JSON.stringify(back)}`)
  process.exitCode = away.alone === 503 && away.member === 503 && back.alone === 200 && back.member === 503 ? 0 : 1
} finally {
  httpd.kill()
  await ended
}
JS
node run.mjs
