/**
 * Many simultaneous writers, batches as resolvers see them, and writers whose server is killed: nothing is lost, and
 * nothing is half done.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { askAll } from '../support/reference-servers.js';
import { until } from '../support/until.js';

const KEY = 'writes-key-0123456789-0123456789-0123456789';
/** Few in the tests, more by hand. */
const KILLS = Number(process.env['ZONEPLANE_WRITE_KILLS'] ?? 5);
const FLIPS = Number(process.env['ZONEPLANE_WRITE_FLIPS'] ?? 1000);
const WRITERS = 50;
const EACH = 20;

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-writes-'));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));

interface Running extends Program {
  readonly agent: Agent;
}

async function start(data: string): Promise<Running> {
  return {
    ...(await startProgram({ directory, data, key: KEY, detached: true })),
    agent: new Agent({ keepAlive: true }),
  };
}

async function stop(program: Running, signal?: 'SIGKILL'): Promise<void> {
  await stopProgram(program, signal);
  program.agent.destroy();
}

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  readonly json: any;
}

async function call(
  { adminPort: port, agent }: Running,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const request = httpRequest({ host: '127.0.0.1', port, method, path: `/client/v4${path}`, headers, agent });
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  return { status: response.statusCode!, json: JSON.parse(Buffer.concat(pieces).toString()) };
}

async function makeZone(program: Running, name: string): Promise<string> {
  return (await call(program, 'POST', '/zones', { name })).json.result.id as string;
}

/** All records of a zone. */
async function recordsOf(program: Running, zone: string): Promise<{ name: string; content: string }[]> {
  const found: { name: string; content: string }[] = [];
  for (let page = 1; ; page++) {
    const { json } = await call(program, 'GET', `/zones/${zone}/dns_records?per_page=20000&page=${page}`);
    if (json.result.length === 0) return found;
    found.push(...json.result);
  }
}

/** The serial of the zone as DNS has it; a zone that was made a moment ago may need another one. */
async function servedSerial({ dnsPort }: Running): Promise<number> {
  for (let attempt = 0; attempt < 3000; attempt++) {
    const [soa] = await askAll(dnsPort, [makeQuery(parseName('example.com.'), Type.soa)]);
    const rdata = Buffer.from((soa && decodeMessage(soa).answer[0]?.rdata) ?? '', 'hex');
    if (rdata.length > 20) return rdata.readUInt32BE(rdata.length - 20);
    await sleep(20);
  }
  throw new Error('the zone is not served within a minute');
}

t.test(`${WRITERS} writers on one zone`, async (t) => {
  const program = await start('writers');
  t.teardown(() => stop(program));
  const zone = await makeZone(program, 'example.com');
  const path = `/zones/${zone}/dns_records`;
  const outcomes = { made: 0, identical: 0, other: 0 };
  const count = ({ status, json }: Answer): void => {
    const identical = status === 400 && json.errors[0].code === 81058;
    outcomes[status === 200 ? 'made' : identical ? 'identical' : 'other']++;
  };
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      for (let i = 0; i < EACH; i++) {
        const own = { type: 'A', name: `w${writer}-${i}`, content: `192.0.2.${writer}`, ttl: 60 };
        count(await call(program, 'POST', path, own));
        // One for which all contend.
        count(await call(program, 'POST', path, { type: 'TXT', name: `all-${i}`, content: 'one', ttl: 60 }));
      }
    }),
  );
  t.strictSame(outcomes, { made: WRITERS * EACH + EACH, identical: WRITERS * EACH - EACH, other: 0 });
  const records = await recordsOf(program, zone);
  t.equal(new Set(records.map(({ name, content }) => `${name} ${content}`)).size, WRITERS * EACH + EACH);
  t.equal(records.length, WRITERS * EACH + EACH, 'none twice');
  const usage = (await call(program, 'GET', `${path}/usage`)).json.result.record_usage;
  t.equal(usage, records.length, 'and they are counted right');

  const one = records.find(({ name }) => name === 'w0-0.example.com') as unknown as { id: string };
  const edits = await Promise.all(
    Array.from({ length: WRITERS }, (_, i) => call(program, 'PATCH', `${path}/${one.id}`, { comment: `by ${i}` })),
  );
  t.ok(
    edits.every(({ status }) => status === 200),
    'edits of one record queue up',
  );
  const deletions = await Promise.all(
    Array.from({ length: WRITERS }, () => call(program, 'DELETE', `${path}/${one.id}`)),
  );
  t.strictSame(
    deletions.map(({ status }) => status).sort(),
    [200, ...Array.from({ length: WRITERS - 1 }, () => 404)],
    'one deletes it, the others find nothing',
  );
  const queries = Array.from({ length: WRITERS }, (_, i) => makeQuery(parseName(`w${i}-1.example.com.`), Type.a));
  await until(async () => {
    const answers = await askAll(program.dnsPort, queries);
    return answers.every((answer) => answer && decodeMessage(answer).answer.length === 1);
  });
});

t.test(`${FLIPS} batches between a CNAME and addresses, as resolvers see them`, { timeout: 480_000 }, async (t) => {
  const program = await start('flips');
  t.teardown(() => stop(program));
  const zone = await makeZone(program, 'example.com');
  const path = `/zones/${zone}/dns_records`;
  const alias = { type: 'CNAME', name: 'www', content: 'target.example.net', ttl: 60 };
  const addresses = [
    { type: 'A', name: 'www', content: '192.0.2.1', ttl: 60 },
    { type: 'AAAA', name: 'www', content: '2001:db8::1', ttl: 60 },
  ];
  let ids: string[] = [(await call(program, 'POST', `${path}?wait=insync`, alias)).json.result.id];
  let flipping = true;
  const seen = new Map<string, number>();
  const name = parseName('www.example.com.');
  const asking = (async () => {
    while (flipping) {
      const queries = [Type.a, Type.aaaa, Type.a, Type.aaaa].map((type) => makeQuery(name, type));
      for (const answer of await askAll(program.dnsPort, queries, 10_000)) {
        const decoded = answer && decodeMessage(answer);
        const what = decoded ? `${decoded.rcode} ${decoded.answer.map(({ type }) => type).join()}` : 'silence';
        seen.set(what, (seen.get(what) ?? 0) + 1);
      }
    }
  })();
  for (let i = 0; i < FLIPS; i++) {
    const posts = i % 2 === 0 ? addresses : [alias];
    const { status, json } = await call(program, 'POST', `${path}/batch`, {
      deletes: ids.map((id) => ({ id })),
      posts,
    });
    if (status !== 200) throw new Error(JSON.stringify(json));
    ids = json.result.posts.map(({ id }: { id: string }) => id);
  }
  flipping = false;
  await asking;
  const expected = [`0 ${Type.a}`, `0 ${Type.aaaa}`, `0 ${Type.cname}`];
  t.strictSame([...seen.keys()].sort(), expected.sort(), 'the alias or the addresses, never neither and never both');
  t.ok((seen.get(`0 ${Type.a}`) ?? 0) > 5, 'and each of them');
  t.comment(`answers: ${JSON.stringify([...seen])}`);
});

t.test(`killed ${KILLS} times while records are written`, { timeout: 1_800_000 }, async (t) => {
  /** Name → content of what was acknowledged. */
  const acknowledged = new Map<string, string>();
  let zone = '';
  let lastSerial = 0;
  for (let round = 0; round <= KILLS; round++) {
    const program = await start('killed');
    if (round === 0) zone = await makeZone(program, 'example.com');
    const path = `/zones/${zone}/dns_records`;
    const stored = new Map((await recordsOf(program, zone)).map(({ name, content }) => [name, content]));
    const lost = [...acknowledged].filter(([name, content]) => stored.get(name) !== content);
    if (lost.length > 0) t.fail(`round ${round}: lost ${lost.length}, such as ${lost[0]!.join(' ')}`);
    const serial = await servedSerial(program);
    if (serial < lastSerial) t.fail(`round ${round}: the serial went from ${lastSerial} back to ${serial}`);
    lastSerial = serial;
    if (round === KILLS) {
      const names = [...acknowledged.keys()].slice(-200);
      const answers = await askAll(
        program.dnsPort,
        names.map((name) => makeQuery(parseName(`${name}.`), Type.a)),
      );
      t.ok(
        answers.every((answer) => answer && decodeMessage(answer).answer.length === 1),
        'what is stored is served',
      );
      await stop(program);
      break;
    }
    let writing = true;
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let i = 0; writing; i++) {
        const record = {
          type: 'A',
          name: `r${round}-${writer}-${i}.example.com`,
          content: `192.0.2.${i % 250}`,
          ttl: 60,
        };
        const batch = [0, 1, 2].map((n) => ({ ...record, name: `b${n}-${record.name}` }));
        try {
          if (i % 4 === 3) {
            const { status } = await call(program, 'POST', `${path}/batch`, { posts: batch });
            if (status === 200) for (const { name, content } of batch) acknowledged.set(name, content);
          } else if ((await call(program, 'POST', path, record)).status === 200) {
            acknowledged.set(record.name, record.content);
          }
        } catch {
          return;
        }
      }
    });
    await sleep(60 + (round % 7) * 25);
    // A busy machine has acknowledged little by then.
    for (let waited = 0; acknowledged.size <= (round + 1) * 10 && waited < 1000; waited++) await sleep(10);
    await stop(program, 'SIGKILL');
    writing = false;
    await Promise.all(writers);
  }
  t.ok(acknowledged.size > KILLS * 10, `${acknowledged.size} acknowledged records are all there`);
});
