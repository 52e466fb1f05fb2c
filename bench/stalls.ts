/**
 * How long others wait beside one large operation: 20 small writes a second to another zone, as many that wait until DNS
 * answers them, a look at `/livez` every 10 ms (it waits for the main thread of the admin process), and DNS questions over one
 * TCP connection every 10 ms (they wait for the main thread of the DNS process).
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf, mainThreadMs, stop } from './processes.js';
import { environmentOf, KEY, PROGRAM, type Running, startProgram } from './program.js';
import { writeZone, ZONE } from './workload.js';
import type { Figures } from './writes.js';

interface Place extends Running {
  /** Commands that run beside the server. */
  readonly commands: Set<number>;
  readonly directory: string;
  readonly port: number;
  readonly names: number;
  /** A zone file with that many names, and one in which each address differs. */
  readonly files: readonly [string, string];
}

interface Operation {
  readonly name: string;
  /** What has to be there before; it is not watched. */
  prepare?(place: Place): Promise<void>;
  run(place: Place): Promise<void>;
}

/** Operations of a batch, which is the most that a client may send. */
const BATCH = 3500;
/** Records of an import by the v4 API, which takes 256 KiB. */
const IMPORT = 8000;
/** Records that a restoration may undo. */
const MOST_UNDONE = 96_000;
const SMALL_EVERY_MS = 50;
const LOOK_EVERY_MS = 10;
const AFTERWARDS_MS = 1500;

/**
 * The longest waits of others in milliseconds, and the time of the operation, for each operation whose name has `wanted` in it.
 */
export async function measureStalls(
  directory: string,
  port: number,
  options: { readonly names: number; readonly wanted: string },
): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'stalls-'));
  const files = [join(own, 'first.zone'), join(own, 'second.zone')] as const;
  const small = join(own, 'small.zone');
  await writeZone(small, 100);
  await writeZone(files[0], options.names, { withOrigin: false });
  await writeZone(files[1], options.names, { net: 11, withOrigin: false });
  const running = await startProgram(own, small, port);
  const place: Place = { ...running, directory: own, port, names: options.names, files, commands: new Set() };
  const figures: Record<string, number> = {};
  try {
    for (const operation of OPERATIONS.filter(({ name }) =>
      options.wanted.split(',').some((wanted) => name.includes(wanted)),
    )) {
      await operation.prepare?.(place);
      await sleep(AFTERWARDS_MS);
      process.stdout.write(`${operation.name}\n`);
      Object.assign(figures, await watched(place, operation));
    }
  } finally {
    running.api.close();
    await stop(running.server);
  }
  return figures;
}

async function watched(place: Place, operation: Operation): Promise<Figures> {
  const waits = watch(place);
  await sleep(AFTERWARDS_MS);
  const idle = waits.takeLongest();
  const began = performance.now();
  await operation.run(place);
  const took = performance.now() - began;
  // What is published, removed or signed afterwards counts too.
  await sleep(AFTERWARDS_MS);
  const beside = waits.takeLongest();
  await waits.end();
  const figures: Record<string, number> = { [`${operation.name}: its own time`]: took };
  for (const [what, longest] of Object.entries(beside)) {
    figures[`${operation.name}: ${what}, longest (before ${Math.round(idle[what] ?? 0)})`] = longest;
  }
  return { ...figures, [`${operation.name}: load`]: loadavg()[0]! };
}

interface Watch {
  /** The longest waits since the last call, by what waited. */
  takeLongest(): Record<string, number>;
  end(): Promise<void>;
}

let watches = 0;

function watch({ api, zonePath, port, server, commands }: Place): Watch {
  const name = `watch${watches++}`;
  const { admin, dns: dnsProcess } = childrenOf(server.process.pid!);
  let longest: Record<string, number> = {};
  let next = 0;
  const under = new Set<Promise<void>>();
  const note = (what: string, ms: number): void => {
    longest[what] = Math.max(longest[what] ?? 0, ms);
  };
  const time = (what: string, processes: () => readonly number[], work: () => Promise<unknown>): void => {
    const own = processes();
    const [began, usedBefore] = [performance.now(), mainThreadMs(own)];
    const done = work()
      .catch(() => note(`${what}, refused`, 1))
      .then(() => {
        note(what, performance.now() - began);
        note(`${what}, processor time`, mainThreadMs(own) - usedBefore);
        under.delete(done);
      });
    under.add(done);
  };
  const write = (query: string): Promise<unknown> => {
    const body = { type: 'A', name: `${name}-${next++}`, content: '192.0.2.7', ttl: 60 };
    return api.call('POST', `${zonePath}/dns_records${query}`, body);
  };
  const dns = openTcp(port);
  const writers = (): number[] => [admin, ...commands];
  const timers = [
    setInterval(() => time('small write', writers, () => write('')), SMALL_EVERY_MS),
    setInterval(() => time('write that is answered', writers, () => write('?wait=insync')), SMALL_EVERY_MS),
    setInterval(
      () =>
        time(
          'admin process',
          () => [admin],
          () => live(port + 1),
        ),
      LOOK_EVERY_MS,
    ),
    setInterval(
      () =>
        time(
          'DNS over TCP',
          () => [dnsProcess],
          () => dns.ask(),
        ),
      LOOK_EVERY_MS,
    ),
  ];
  return {
    takeLongest() {
      const taken = longest;
      longest = {};
      return taken;
    },
    async end() {
      for (const timer of timers) clearInterval(timer);
      await Promise.all(under);
      dns.close();
    },
  };
}

function live(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${KEY}` };
    const call = request({ host: '127.0.0.1', port, path: '/livez', headers }, (answer) => {
      answer.resume();
      answer.on('end', resolve);
    });
    call.on('error', reject);
    call.end();
  });
}

/** Questions for the same name over one connection; answers come in their order. */
function openTcp(port: number): { ask(): Promise<void>; close(): void } {
  const labels = ZONE.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]);
  const query = Buffer.from([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 6, 0, 1]);
  const message = Buffer.concat([Buffer.from([0, query.length]), query]);
  const waiting: (() => void)[] = [];
  let buffered = Buffer.alloc(0);
  const socket: Socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    buffered = Buffer.concat([buffered, chunk]);
    while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
      buffered = buffered.subarray(2 + buffered.readUInt16BE(0));
      waiting.shift()?.();
    }
  });
  return {
    ask: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        socket.write(message);
      }),
    close: () => void socket.destroy(),
  };
}

/** A command beside the server; it must succeed. */
function command({ directory, port, commands }: Place, args: readonly string[]): Promise<void> {
  const env = { ...process.env, ...environmentOf(directory, port, {}) };
  const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  commands.add(child.pid!);
  let printed = '';
  child.stderr.on('data', (chunk: Buffer) => void (printed = `${printed}${chunk.toString()}`.slice(-2000)));
  return new Promise((resolve, reject) => {
    child.on('exit', (code) => {
      commands.delete(child.pid!);
      if (code === 0) resolve();
      else reject(new Error(`${args.join(' ')}: ${printed}`));
    });
  });
}

async function pathOf({ api }: Place, zone: string): Promise<string> {
  const { result } = await api.call('GET', `/zones?name=${zone}`);
  return `/zones/${(result as { id: string }[])[0]!.id}`;
}

async function addZone(place: Place, zone: string): Promise<void> {
  await place.api.call('POST', '/zones', { name: zone });
}

function posts(prefix: string): { posts: readonly object[] } {
  return {
    posts: Array.from({ length: BATCH }, (_, i) => {
      return { type: 'A', name: `${prefix}${i}`, content: `203.0.${i >> 8}.${i & 255}`, ttl: 60 };
    }),
  };
}

const importInto = (zone: string, file: 0 | 1) => async (place: Place) => {
  await command(place, ['zone', 'import', '--replace', place.files[file], '--origin', zone]);
};

/** The records of a file as the form of the v4 import. */
async function importByApi(place: Place, zone: string, prefix: string): Promise<void> {
  const lines = Array.from({ length: IMPORT }, (_, i) => `${prefix}${i} 300 IN A 10.9.${(i >> 8) & 255}.${i & 255}`);
  const text = `--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n${lines.join('\n')}\n\r\n--b--\r\n`;
  await place.api.send(`${await pathOf(place, zone)}/dns_records/import`, 'multipart/form-data; boundary=b', text);
}

/** A zone with a record, which is its version 2, and many more that came later. */
async function growZone(place: Place, zone: string): Promise<void> {
  await addZone(place, zone);
  const path = await pathOf(place, zone);
  await place.api.call('POST', `${path}/dns_records`, { type: 'A', name: 'first', content: '192.0.2.1' });
  for (let i = 0; i < Math.min(place.names, MOST_UNDONE) / IMPORT; i++) await importByApi(place, zone, `r${i}-`);
}

async function restoreFirst(place: Place, zone: string): Promise<void> {
  const path = await pathOf(place, zone);
  await place.api.call('POST', `${path}/history/version:2/restore`, {});
}

/** Undoes the last edit, so that everything comes back that a restoration has removed. */
const restoreNewest = (zone: string) => async (place: Place) => {
  const path = await pathOf(place, zone);
  const { result } = await place.api.call('GET', `${path}/history?per_page=2`);
  await place.api.call('POST', `${path}/history/${(result as { id: string }[])[1]!.id}/restore`, {});
};

const OPERATIONS: readonly Operation[] = [
  { name: 'nothing', run: () => sleep(3000) },
  {
    name: 'batch of 3500',
    prepare: (place) => addZone(place, 'batch.test'),
    run: async (place) => {
      await place.api.call('POST', `${await pathOf(place, 'batch.test')}/dns_records/batch`, posts('n'));
    },
  },
  {
    name: 'import by API',
    prepare: (place) => addZone(place, 'api.test'),
    run: (place) => importByApi(place, 'api.test', 'i'),
  },
  {
    name: 'zone file by API',
    run: async (place) =>
      void (await place.api.send('/zones/import?name=file.test', 'text/plain', readFileSync(place.files[0], 'utf8'))),
  },
  { name: 'import by command', run: importInto('command.test', 0) },
  { name: 'replacement by command', prepare: importInto('replaced.test', 0), run: importInto('replaced.test', 1) },
  {
    name: 'removal by restore',
    prepare: (place) => growZone(place, 'restored.test'),
    run: (place) => restoreFirst(place, 'restored.test'),
  },
  {
    name: 'return by restore',
    async prepare(place) {
      await growZone(place, 'returned.test');
      await restoreFirst(place, 'returned.test');
    },
    run: restoreNewest('returned.test'),
  },
  {
    name: 'removal from a signed zone',
    async prepare(place) {
      await growZone(place, 'resigned.test');
      await sign(place, 'resigned.test');
    },
    run: (place) => restoreFirst(place, 'resigned.test'),
  },
  { name: 'return to a signed zone', run: restoreNewest('resigned.test') },
  {
    name: 'deletion of a zone',
    prepare: importInto('deleted.test', 0),
    run: async (place) => void (await place.api.call('DELETE', await pathOf(place, 'deleted.test'))),
  },
  {
    name: 'search in all records',
    prepare: importInto('search.test', 0),
    run: async (place) =>
      void (await place.api.call('GET', `${await pathOf(place, 'search.test')}/dns_records?search=47x11`)),
  },
  {
    name: 'past state',
    prepare: (place) => growZone(place, 'past.test'),
    run: async (place) =>
      void (await place.api.call('GET', `${await pathOf(place, 'past.test')}/dns_records?as_of=version:2`)),
  },
  {
    name: 'signing',
    prepare: importInto('signing.test', 0),
    run: async (place) => sign(place, 'signing.test'),
  },
  {
    name: 'replacement of a signed zone',
    async prepare(place) {
      await importInto('signed.test', 0)(place);
      await sign(place, 'signed.test');
    },
    run: importInto('signed.test', 1),
  },
  {
    name: 'flattening of all names',
    prepare: importInto('settings.test', 0),
    run: async (place) => {
      const path = await pathOf(place, 'settings.test');
      await place.api.call('PATCH', `${path}/dns_settings`, { flatten_all_cnames: true });
    },
  },
];

/** Until everything is signed. */
async function sign(place: Place, zone: string): Promise<void> {
  const path = await pathOf(place, zone);
  await place.api.call('PATCH', `${path}/dnssec`, { status: 'active' });
  for (;;) {
    const { result } = await place.api.call('GET', `${path}/dnssec/status`);
    if ((result as { progress: number | null }).progress === null) return;
    await sleep(200);
  }
}
