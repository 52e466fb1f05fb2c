/** What greedy neighbours do over and over, and what they need for it. */
import { execFileSync } from 'node:child_process';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { atOnce } from './at-once.js';
import { type Asker, createAsker } from './objects/signed.js';
import { type ApiClient, createApiClient, PROGRAM, type Running } from './program.js';
import type { SilentPeers } from './shares-silent.js';

export interface Neighbour {
  readonly number: number;
  readonly account: string;
  readonly secret: string;
  /** Path of its bucket. */
  readonly bucket: string;
  readonly zone: string;
  readonly port: number;
  /** Of this machine, from which it connects. */
  readonly address: string;
  readonly api: ApiClient;
  readonly s3: Asker;
  readonly records: string;
  readonly file: string;
  readonly operator: ApiClient;
  readonly peers: SilentPeers;
  /** Of an upload that has many parts; of a pool that many load balancers use; of a monitor; of a provider. */
  upload?: string;
  pool?: string;
  monitor?: string;
  provider?: string;
}

export interface GreedyWork {
  /** Before; alone. */
  readonly prepare?: (neighbour: Neighbour) => Promise<void>;
  readonly run: (neighbour: Neighbour, count: number) => Promise<unknown>;
}

const BUCKET = 'greedy';
const PARTS = 500;
const BALANCERS = 1000;
const ORIGIN = { name: 'o', address: '192.0.2.1' };

export const GREEDY: Readonly<Record<string, GreedyWork>> = {
  'lists with 100 tags': {
    run: ({ api, records }) =>
      api.call('GET', `${records}?${Array.from({ length: 100 }, (_, i) => `tag=a:${i}`).join('&')}`),
  },
  'pages of 50 000': { run: ({ api, records }) => api.call('GET', `${records}?per_page=50000`) },
  searches: { run: ({ api, records }, count) => api.call('GET', `${records}?search=${count}`) },
  creations: { run: createRecord },
  'batches of 400': {
    run: ({ api, records }, count) =>
      api.call('POST', `${records}/batch`, {
        posts: Array.from({ length: 400 }, (_, i) => ({ type: 'A', name: `b${count}-${i}`, content: '192.0.2.7' })),
      }),
  },
  exports: { run: ({ api, records }) => api.call('GET', `${records}/export`) },
  'signing and not': {
    run: ({ api, zone }, count) =>
      api.call('PATCH', `${zone}/dnssec`, { status: count % 2 === 0 ? 'active' : 'disabled' }),
  },
  'uploads of 1 MiB': {
    run: ({ api, bucket }, count) => api.call('PUT', `${bucket}/objects/${count % 50}`, { text: 'x'.repeat(1 << 20) }),
  },
  'lists of objects': { run: ({ api, bucket }) => api.call('GET', `${bucket}/objects?per_page=1000&delimiter=/`) },
  'connections that are held': { run: holdConnections },
  'dry runs of imports': {
    run: ({ api, file }, count) => api.send(`/zones/import?name=dry${count}.example&dry_run=true`, 'text/plain', file),
  },
  'uploads in parts': { prepare: prepareUpload, run: uploadInParts },
  'pools of 1 000 load balancers': { prepare: prepareBalancers, run: changePools },
  'event streams and webhooks': { prepare: prepareWebhooks, run: holdStreams },
  'large answers that nobody reads': { run: leaveUnread },
  'objects that nobody reads': { prepare: prepareObject, run: leaveObjects },
};

/** The account of a neighbour with its zone and bucket. `command`: runs one of the program, and returns what it prints. */
export async function createNeighbour(
  { api: operator }: Running,
  { number, port, s3Port, peers }: Pick<Neighbour, 'number' | 'port' | 'peers'> & { readonly s3Port: number },
  { zoneFile, file, env }: { readonly zoneFile: string; readonly file: string; readonly env: NodeJS.ProcessEnv },
): Promise<Neighbour> {
  const command = (...options: string[]): string =>
    execFileSync(process.execPath, [PROGRAM, ...options], { env }).toString();
  const name = `n${number}`;
  const made = command('account', 'create', name, '--member', `${name}@example.org`);
  const account = /\(([0-9a-f]{32})\)/.exec(made)![1]!;
  const email = ['--email', `${name}@example.org`];
  const { secret } = JSON.parse(command('key', 'create', name, ...email, '--account', account, '--json'));
  command('zone', 'import', zoneFile, '--origin', `${name}.example`, '--account', account);
  const api = createApiClient(port, secret);
  const [zone] = (await operator.call('GET', `/zones?name=${name}.example`)).result as { id: string }[];
  await api.call('POST', `/accounts/${account}/r2/buckets`, { name: BUCKET });
  const key = JSON.parse(command('bucket', 'key', 'create', BUCKET, '--account', account, '--json'));
  const s3Key = { accessKeyId: key.access_key_id, secretAccessKey: key.secret_access_key };
  return {
    ...{ number, account, secret, api, file, port, operator, peers, address: `127.0.0.${10 + number}` },
    ...{ zone: `/zones/${zone!.id}`, records: `/zones/${zone!.id}/dns_records` },
    ...{ bucket: `/accounts/${account}/r2/buckets/${BUCKET}`, s3: createAsker(s3Port, s3Key, 64) },
  };
}

function createRecord({ api, records }: Neighbour, count: number): Promise<unknown> {
  return api.call('POST', records, { type: 'A', name: `x${count}`, content: '192.0.2.7' });
}

/** As many connections as a server allows in total; nothing is sent on them. */
const HELD = 150;

async function holdConnections({ port, address: localAddress }: Neighbour): Promise<void> {
  const place = { port, host: '127.0.0.1', localAddress };
  const held = Array.from({ length: HELD }, () => connect(place).on('error', () => {}));
  await sleep(2000);
  for (const socket of held) socket.destroy();
}

async function beginUpload(s3: Asker, key: string): Promise<string> {
  const { text } = await s3.ask('POST', `/${BUCKET}/${key}`, { uploads: '' });
  return /<UploadId>([^<]+)</.exec(text)![1]!;
}

async function putPart(s3: Asker, key: string, uploadId: string, part: number): Promise<string> {
  const query = { partNumber: String(part), uploadId };
  return String((await s3.ask('PUT', `/${BUCKET}/${key}`, query, { body: 'part' })).headers['etag']);
}

async function prepareUpload(neighbour: Neighbour): Promise<void> {
  const { s3 } = neighbour;
  const uploadId = await beginUpload(s3, 'many');
  await atOnce(8, PARTS, (i) => putPart(s3, 'many', uploadId, i + 1));
  neighbour.upload = uploadId;
}

async function uploadInParts({ s3, upload }: Neighbour, count: number): Promise<void> {
  if (count % 2 === 0) {
    await s3.ask('GET', `/${BUCKET}/many`, { uploadId: upload! });
    await s3.ask('GET', `/${BUCKET}`, { uploads: '' });
    return;
  }
  const key = `part${count % 50}`;
  const uploadId = await beginUpload(s3, key);
  const etag = await putPart(s3, key, uploadId, 1);
  if (count % 4 === 1) {
    await s3.ask('DELETE', `/${BUCKET}/${key}`, { uploadId });
    return;
  }
  const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${etag}</ETag></Part></CompleteMultipartUpload>`;
  await s3.ask('POST', `/${BUCKET}/${key}`, { uploadId }, { body });
}

async function createPool({ api, account }: Neighbour, name: string): Promise<string> {
  const made = await api.call('POST', `/accounts/${account}/load_balancers/pools`, { name, origins: [ORIGIN] });
  return (made.result as { id: string }).id;
}

/** The first neighbour has them; the others make and delete pools. */
async function prepareBalancers(neighbour: Neighbour): Promise<void> {
  const { api, zone, number } = neighbour;
  if (number > 0) return;
  const pool = await createPool(neighbour, 'shared');
  const apex = `n${number}.example`;
  await atOnce(8, BALANCERS, (i) => {
    const balancer = { name: `lb${i}.${apex}`, default_pools: [pool], fallback_pool: pool };
    return api.call('POST', `${zone}/load_balancers`, balancer);
  });
  neighbour.pool = pool;
}

async function changePools(neighbour: Neighbour, count: number): Promise<void> {
  const { api, account, pool } = neighbour;
  const base = `/accounts/${account}/load_balancers/pools`;
  if (pool !== undefined) {
    const origins = [{ ...ORIGIN, address: `192.0.2.${count % 250}` }];
    await api.call('PATCH', `${base}/${pool}`, { origins });
    return;
  }
  await api.call('DELETE', `${base}/${await createPool(neighbour, `p${count}`)}`);
}

/** Receivers that never answer, and a policy of every record that changes. */
async function prepareWebhooks({ api, account }: Neighbour): Promise<void> {
  const silent = createServer((socket) => socket.resume().on('error', () => {})).listen(0, '127.0.0.1');
  silent.unref();
  await new Promise((resolve) => silent.once('listening', resolve));
  const { port } = silent.address() as { port: number };
  const base = `/accounts/${account}/alerting/v3`;
  for (let i = 0; i < 10; i++) {
    const hook = { name: `w${i}`, url: `http://127.0.0.1:${port}/${i}` };
    const { id } = (await api.call('POST', `${base}/destinations/webhooks`, hook)).result as { id: string };
    const policy = { name: `w${i}`, alert_type: 'zoneplane_record', enabled: true };
    await api.call('POST', `${base}/policies`, { ...policy, mechanisms: { webhooks: [{ id }] } });
  }
}

/** A stream that is not read while the neighbour makes events. */
async function holdStreams(neighbour: Neighbour, count: number): Promise<void> {
  const socket = ask(neighbour, '/events?last_event_id=1', 'text/event-stream').pause();
  for (let i = 0; i < 20; i++) await createRecord(neighbour, count * 100 + i).catch(() => sleep(20));
  socket.destroy();
}

async function leaveUnread(neighbour: Neighbour): Promise<void> {
  const held = Array.from({ length: 20 }, () => ask(neighbour, `${neighbour.records}?per_page=50000`).pause());
  await sleep(3000);
  for (const socket of held) socket.destroy();
}

async function prepareObject({ api, bucket }: Neighbour): Promise<void> {
  await api.call('PUT', `${bucket}/objects/unread`, { text: 'x'.repeat(16 << 20) });
}

/** All connections come at once. */
async function leaveObjects(neighbour: Neighbour): Promise<void> {
  const held = Array.from({ length: 20 }, () => ask(neighbour, `${neighbour.bucket}/objects/unread`).pause());
  await sleep(3000);
  for (const socket of held) socket.destroy();
}

function ask({ port, address: localAddress, secret }: Neighbour, path: string, accept = '*/*'): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
  socket.write(
    `GET /client/v4${path} HTTP/1.1\r\nHost: h\r\nAccept: ${accept}\r\nAuthorization: Bearer ${secret}\r\n\r\n`,
  );
  return socket;
}
