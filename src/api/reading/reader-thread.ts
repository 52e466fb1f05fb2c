/** A thread that reads for requests which may take long; the other end is readers.ts. It has a handle of its own, which cannot write. */
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { SystemClock } from '../../base/clock.js';
import { createLogger, type LogLevel } from '../../base/log.js';
import { Steps, standBack } from '../../base/process/scheduling.js';
import { systemRandom } from '../../base/random.js';
import { inParts } from '../../base/read-ahead.js';
import { type EventQuery, readEvents } from '../../control/access/visible-events.js';
import type { Actor } from '../../control/guard/actor.js';
import type { Context, ContextBase } from '../../control/kernel/context.js';
import { exportZone } from '../../control/records/export.js';
import { openStore } from '../../store/driver.js';
import { examineStore } from '../../warnings/examine.js';
import { createAnswerer } from './answer.js';
import type { ExportOrder, FromReader, ReaderData, ToReader } from './order.js';

const { dataDir, settings, logLevel } = workerData as ReaderData;
const port = parentPort!;

standBack(Steps.background, 'thread');
const store = openStore(dataDir, { readonly: true });
const log = createLogger({ level: logLevel as LogLevel, pretty: false });
const base: ContextBase = {
  ...{ store, clock: new SystemClock(), random: systemRandom, log, settings },
  // Nothing is written here, and nobody is asked.
  participants: [],
  egress: { refusal: () => 'a thread that reads connects to nothing' },
};
const answer = createAnswerer(base);
let goOn: (isWanted: boolean) => void = () => {};

port.on('message', (message: ToReader) => {
  if (message === 'next' || message === 'stop') goOn(message === 'next');
  else if ('read' in message)
    settle(answer(message.read).then(({ body, ...rest }) => post({ answer: { ...rest, body } }, body)));
  else if ('examine' in message) settle(examine(message.examine));
  else if ('follow' in message) settle(follow(message.follow, message.query));
  else settle(exportText(message.export));
});

function settle(work: Promise<void>): void {
  work.catch((error: unknown) =>
    post({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
}

function post(message: FromReader, octets?: Uint8Array): void {
  const { buffer, byteLength } = octets ?? new Uint8Array(0);
  // Memory that nothing else uses moves; the rest is copied.
  port.postMessage(message, buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []);
}

async function examine(actor: Actor): Promise<void> {
  post({ findings: examineStore({ store, actor }, settings, base.clock.nowUs()) });
}

async function follow(actor: Actor, query: EventQuery): Promise<void> {
  post({ events: readEvents({ store, actor }, query) });
}

async function exportText({ actor, zoneId, fd }: ExportOrder): Promise<void> {
  const context: Context = { ...base, actor, requestId: '', source: 'api' };
  for await (const text of inParts(exportZone(context, zoneId, 'bind'))) {
    const octets = Buffer.from(text);
    for (let at = 0; at < octets.length; ) at += writeSync(fd, octets, at);
    const wanted = new Promise<boolean>((resolve) => (goOn = resolve));
    post({ written: octets.length });
    if (!(await wanted)) break;
  }
  post('end');
}
