/** Rules of buckets over the admin API: shapes, refusals, and locks at its own doors. */
import t from 'tap';
import { install } from './installation.js';

const { call, misfits } = await install(t);
const account = (await call('GET', '/accounts')).json.result[0].id as string;
const buckets = `/accounts/${account}/r2/buckets`;
const one = `${buckets}/mine`;
await call('POST', buckets, { name: 'mine' });

/** Status and code. */
const outcome = async (answer: ReturnType<typeof call>): Promise<[number, number | undefined]> => {
  const { status, json } = await answer;
  return [status, json.errors[0]?.code];
};

t.test('CORS', async (t) => {
  t.strictSame(await outcome(call('GET', `${one}/cors`)), [404, 10059]);
  const rules = [
    {
      id: 'site',
      allowed: {
        methods: ['GET', 'PUT'],
        origins: ['https://a.test', 'http://localhost:*'],
        headers: ['content-type'],
      },
      exposeHeaders: ['ETag'],
      maxAgeSeconds: 3600,
    },
  ];
  t.strictSame((await call('PUT', `${one}/cors`, { rules })).json.result, {});
  t.strictSame((await call('GET', `${one}/cors`)).json.result, { rules });
  const allowed = { methods: ['GET'], origins: ['https://a.test'] };
  const bad: unknown[] = [
    { rules: [{ allowed: { ...allowed, methods: ['OPTIONS'] } }] },
    { rules: [{ allowed: { ...allowed, origins: ['https://a.test/path'] } }] },
    { rules: [{ allowed: { ...allowed, origins: [] } }] },
    { rules: [{ allowed, allowCredentials: true }] },
    {
      rules: [
        { allowed, id: 'x' },
        { allowed, id: 'x' },
      ],
    },
    { rules: Array.from({ length: 101 }, () => ({ allowed })) },
    { rules: [{ allowed: { ...allowed, origins: Array.from({ length: 1001 }, (_, i) => `https://${i}.test`) } }] },
    { rules: [{ allowed }], more: 1 },
    { rules: {} },
    [],
  ];
  for (const body of bad) {
    t.strictSame(await outcome(call('PUT', `${one}/cors`, body)), [400, 9207], JSON.stringify(body).slice(0, 80));
  }
  t.strictSame((await call('GET', `${one}/cors`)).json.result, { rules }, 'nothing has changed');
  t.strictSame((await call('DELETE', `${one}/cors`)).json.result, {});
  t.strictSame(await outcome(call('GET', `${one}/cors`)), [404, 10059]);
  t.strictSame(await outcome(call('PUT', `${buckets}/none/cors`, { rules })), [404, 10006]);
});

t.test('lifecycle', async (t) => {
  const [first] = (await call('GET', `${one}/lifecycle`)).json.result.rules;
  t.match(first, { enabled: true, abortMultipartUploadsTransition: { condition: { type: 'Age', maxAge: 604_800 } } });
  const rules = [
    {
      id: 'logs',
      enabled: true,
      conditions: { prefix: 'logs/' },
      deleteObjectsTransition: { condition: { type: 'Age', maxAge: 90 } },
      storageClassTransitions: [
        { condition: { type: 'Date', date: '2030-01-01T00:00:00Z' }, storageClass: 'InfrequentAccess' },
      ],
    },
    first,
  ];
  t.strictSame((await call('PUT', `${one}/lifecycle`, { rules })).json.result, {});
  t.strictSame((await call('GET', `${one}/lifecycle`)).json.result, { rules });
  const rule = { id: 'a', enabled: true, conditions: { prefix: '' } };
  const age = (maxAge: number) => ({ deleteObjectsTransition: { condition: { type: 'Age', maxAge } } });
  const bad: unknown[] = [
    [rule],
    [{ ...rule, ...age(0) }],
    [{ ...rule, ...age(1.5) }],
    [{ ...rule, ...age(1), id: '' }],
    [{ ...rule, ...age(1), conditions: { prefix: '', minSize: 5 } }],
    [{ ...rule, ...age(1), conditions: { prefix: 'ä'.repeat(513) } }],
    [{ ...rule, deleteObjectsTransition: { condition: { type: 'Date', date: 'tomorrow' } } }],
    [{ ...rule, deleteObjectsTransition: { condition: { type: 'Size', size: 1 } } }],
    [{ ...rule, ...age(1), noncurrentVersions: {} }],
    Array.from({ length: 1001 }, (_, i) => ({ ...rule, ...age(1), id: `r${i}` })),
    Array.from({ length: 900 }, (_, i) => ({
      ...rule,
      ...age(1),
      id: `r${i}`,
      conditions: { prefix: 'x'.repeat(1000) },
    })),
  ];
  for (const rules of bad) {
    t.strictSame(
      await outcome(call('PUT', `${one}/lifecycle`, { rules })),
      [400, 9207],
      JSON.stringify(rules).slice(0, 90),
    );
  }
  t.strictSame((await call('GET', `${one}/lifecycle`)).json.result, { rules });
  t.strictSame((await call('PUT', `${one}/lifecycle`, {})).json.result, {});
  t.strictSame((await call('GET', `${one}/lifecycle`)).json.result, { rules: [first] }, 'the default again');
});

t.test('locks', async (t) => {
  t.strictSame((await call('GET', `${one}/lock`)).json.result, { rules: [] });
  await call('PUT', `${one}/objects/held/1`, undefined, { text: 'first' });
  await call('PUT', `${one}/objects/free`, undefined, { text: 'free' });
  const lock = (condition: object, more: object = {}) => ({
    id: 'l',
    enabled: true,
    prefix: 'held/',
    condition,
    ...more,
  });
  for (const condition of [
    { type: 'Forever' },
    { type: 'Age' },
    { type: 'Age', maxAgeSeconds: -1 },
    { type: 'Date', date: 'x' },
  ]) {
    const body = { rules: [lock(condition)] };
    t.strictSame(await outcome(call('PUT', `${one}/lock`, body)), [400, 9207], JSON.stringify(condition));
  }
  for (const condition of [
    { type: 'Indefinite' },
    { type: 'Age', maxAgeSeconds: 60 },
    { type: 'Date', date: '2100-01-01' },
  ]) {
    const rules = [lock(condition)];
    await call('PUT', `${one}/lock`, { rules });
    t.strictSame((await call('GET', `${one}/lock`)).json.result, { rules });
    const held = `${one}/objects/held/1`;
    t.strictSame(await outcome(call('DELETE', held)), [403, 10069], condition.type);
    t.strictSame(await outcome(call('PUT', held, undefined, { text: 'second' })), [403, 10069]);
    t.strictSame(
      await outcome(call('DELETE', `${one}/objects`, undefined, { text: '["free","held/1"]' })),
      [403, 10069],
    );
  }
  t.equal((await call('GET', `${one}/objects/free`)).text, 'free', 'nothing is half done');
  t.strictSame(await outcome(call('DELETE', one)), [409, 10008]);
  const past = [
    lock({ type: 'Date', date: '2020-01-01T00:00:00Z' }),
    lock({ type: 'Indefinite' }, { id: 'm', enabled: false }),
  ];
  await call('PUT', `${one}/lock`, { rules: past });
  t.equal((await call('DELETE', `${one}/objects/held/1`)).status, 200);
  t.strictSame(misfits, []);
});
