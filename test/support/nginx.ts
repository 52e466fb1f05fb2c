/** nginx as an origin for tests, without privileges and separate from the system's own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { sleep } from '../../src/base/clock.js';

export const hasNginx = spawnSync('nginx', ['-v']).error === undefined;

/** `server`: what stands in the server block, with `listen`. Resolves when it accepts connections at `port`. */
export async function startNginx(directory: string, port: number, server: string): Promise<ChildProcess> {
  const home = join(directory, 'nginx');
  mkdirSync(join(home, 'www'), { recursive: true });
  const configuration = join(home, 'nginx.conf');
  writeFileSync(
    configuration,
    `daemon off; master_process off; worker_processes 1; pid ${home}/pid; error_log ${home}/error.log;
events { worker_connections 1024; }
http {
  access_log off; client_body_temp_path ${home}/body; proxy_temp_path ${home}/proxy; fastcgi_temp_path ${home}/fastcgi;
  uwsgi_temp_path ${home}/uwsgi; scgi_temp_path ${home}/scgi; client_max_body_size 0;
  server { root ${home}/www; ${server} }
}
`,
  );
  const child = spawn('nginx', ['-c', configuration, '-e', join(home, 'error.log'), '-p', home], { stdio: 'ignore' });
  for (let attempt = 0; !(await accepts(port)); attempt++) {
    if (attempt > 3000 || child.exitCode !== null) throw new Error('nginx did not start');
    await sleep(20);
  }
  return child;
}

export function fileOfNginx(directory: string, name: string): string {
  return join(directory, 'nginx', 'www', name);
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
