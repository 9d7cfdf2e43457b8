// A proxy in C, as the ground that no gateway in any language can go below. One process, connections
// kept open on both sides, nothing logged, and streams passed on as they come.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../processes.ts'
import { SUPPLIER_MODEL } from '../traffic.ts'
import { HEADERS, type Candidate } from './candidate.ts'

export const nginx: Candidate = {
  id: 'nginx',
  obstacle: () => (findNginx() === undefined ? 'nginx is not installed' : undefined),
  async open({ processes, supplier }) {
    const folder = processes.createFolder('nginx')
    const port = findFreePort()
    const file = join(folder, 'nginx.conf')
    writeFileSync(file, configuration(folder, port, new URL(supplier).host))
    const running = await processes.start({
      name: 'nginx',
      command: [findNginx() ?? 'nginx', '-p', folder, '-c', file, '-e', join(folder, 'error.log')],
      url: `http://127.0.0.1:${port}`,
    })
    return { id: 'nginx', running, model: SUPPLIER_MODEL, headers: HEADERS, isPeer: false }
  },
}

function findNginx(): string | undefined {
  // Debian puts it where only root looks.
  return (
    Bun.which('nginx') ?? Bun.which('nginx', { PATH: '/usr/sbin:/usr/local/sbin' }) ?? undefined
  )
}

function configuration(folder: string, port: number, supplier: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
daemon off;
master_process off;
pid ${folder}/pid;
error_log ${folder}/error.log;
events { worker_connections 4096; }
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  keepalive_requests 10000000;
  client_body_buffer_size 256k;
  upstream supplier {
    server ${supplier};
    keepalive 256;
    keepalive_requests 10000000;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://supplier;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`
}
