/** nginx as the neighbour of buckets: it serves files, and stores those that are sent with PUT. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makePair, type Pair } from '../edge-servers.js';
import { run } from '../peers.js';
import type { Started } from '../processes.js';

export interface Nginx extends Started {
  readonly securePort: number;
}

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/**
 * Whatever is written below the directory is on the disk when the system call returns, and so is each renamed file (`chattr
 * +S +D`, ext4): nginx has no setting for that. Throws where the file system cannot do it.
 */
function syncAlways(directory: string): void {
  run('chattr', ['+S', '+D', directory]);
}

/** `isSynced`: otherwise it leaves what it was sent to the system, which writes it when it likes. */
export async function startNginx(
  directory: string,
  port: number,
  securePort: number,
  cpu: number,
  isSynced = true,
): Promise<Nginx> {
  const home = join(directory, isSynced ? 'nginx' : 'nginx-unsynced');
  mkdirSync(home, { recursive: true });
  if (isSynced) syncAlways(home);
  for (const name of ['www', ...TEMPORARY]) mkdirSync(join(home, name));
  const pair: Pair = makePair(home, ['localhost']);
  const places = TEMPORARY.map((name) => `${name}_temp_path ${home}/${name};`);
  const file = join(home, 'nginx.conf');
  writeFileSync(
    file,
    `user root; daemon off; master_process off; worker_processes 1; pid ${home}/pid; error_log ${home}/error.log;
events { worker_connections 1024; }
http { access_log off; ${places.join(' ')} client_max_body_size 8g; sendfile on; tcp_nopush on;
keepalive_requests 100000000;
server { listen 127.0.0.1:${port}; listen 127.0.0.1:${securePort} ssl; root ${home}/www;
ssl_certificate ${pair.certificate}; ssl_certificate_key ${pair.key}; ssl_protocols TLSv1.3;
location / { dav_methods PUT DELETE; } } }`,
  );
  const began = performance.now();
  const command = ['-c', String(cpu), 'nginx', '-c', file, '-e', `${home}/error.log`, '-p', home];
  const child: ChildProcess = spawn('taskset', command, { stdio: 'ignore' });
  for (let attempt = 0; ; attempt++) {
    const answered = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
    if (answered) return { name: 'nginx', port, securePort, process: child, startMs: performance.now() - began };
    if (attempt > 100 || child.exitCode !== null) throw new Error('nginx did not start');
    await sleep(50);
  }
}
