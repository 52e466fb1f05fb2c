/** `node echo.js PORT WORKERS`: serves the echo engine over our own transports. */
import { MessageChannel } from 'node:worker_threads';
import { SystemClock } from '../src/base/clock.js';
import { silentLogger } from '../src/base/log.js';
import { startDnsServers } from '../src/server/start.js';
import { echo } from './echo-engine.js';

const [port, workers] = process.argv.slice(2).map(Number);

const servers = await startDnsServers({
  addresses: ['127.0.0.1'],
  port: port!,
  transport: 'auto',
  workers: workers!,
  answer: echo,
  workerEngine: {
    module: new URL('./echo-engine.js', import.meta.url),
    connect: () => ({ data: undefined, port: new MessageChannel().port1 }),
  },
  log: silentLogger(),
  clock: new SystemClock(),
});
process.once('SIGTERM', () => void servers.close().then(() => process.exit(0)));
