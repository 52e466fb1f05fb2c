/** `zoneplane bucket` and `zoneplane secret`, mostly in this process; the secret goes through a real standard input. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { openStore } from '../../src/store/driver.js';
import { isAuthKeySecret } from '../../src/store/objects/auth-key-secret.js';
import { type Outcome, runCommand, spawnCommand } from '../support/commands.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-cli-bucket-'));
const DATA = join(directory, 'data');
const ENVIRONMENT = { ZONEPLANE_DATA_DIR: DATA, ZONEPLANE_RESOLVER_UPSTREAMS: '' };
t.teardown(() => rmSync(directory, { recursive: true }));

const run = (...args: readonly string[]): Promise<Outcome> => runCommand(ENVIRONMENT, ...args);

function pipe(input: string, environment: Record<string, string>, ...args: readonly string[]): Promise<Outcome> {
  return spawnCommand({ ...ENVIRONMENT, ...environment }, args, input);
}

t.test('buckets: create, list, info, bind, delete', async (t) => {
  t.match(await run('bucket', 'list'), { code: 1, err: /there is no database in / });
  t.match(await run('bucket', 'create', 'pictures', '--location', 'weur'), {
    code: 0,
    out: 'created bucket pictures\nServe it with `zoneplane bucket bind pictures --binding MY_BUCKET`.\n',
  });
  t.match(await run('bucket', 'create', 'pictures'), { code: 1, err: /^zoneplane: The bucket .* already exists/ });
  t.match(await run('bucket', 'create', 'No Name'), { code: 1, err: /bucket name is not valid/ });
  t.match(await run('bucket', 'create', 'rare', '--jurisdiction', 'mars'), { code: 2, err: /Allowed choices are/ });
  const made = await run(
    'bucket',
    'create',
    'rare',
    '--jurisdiction',
    'eu',
    '--storage-class',
    'InfrequentAccess',
    '--json',
  );
  t.match(JSON.parse(made.out), {
    name: 'rare',
    jurisdiction: 'eu',
    account_id: /^[0-9a-f]{32}$/,
    location: null,
    storage_class: 'InfrequentAccess',
    bindings: [],
  });

  t.match(await run('bucket', 'bind', 'pictures', '--binding', 'MY_BUCKET'), {
    code: 0,
    out: 'bound bucket pictures to MY_BUCKET; the application serves it\n',
  });
  for (const [binding, reason] of [
    ['my-bucket', 'not a JavaScript identifier'],
    ['1st', 'not a JavaScript identifier'],
    ['', 'it is empty'],
    ['class', 'a reserved word'],
    ['await', 'a reserved word'],
    ['null', 'a reserved word'],
    ['AUTH_KEY_SECRET', 'the name of the secret'],
  ] as const) {
    const refused = await run('bucket', 'bind', 'pictures', '--binding', binding);
    t.match(refused, { code: 1, out: '', err: reason }, binding);
  }
  t.match(await run('bucket', 'bind', 'none', '--binding', 'MY_BUCKET'), { code: 1, err: /bucket does not exist/ });
  t.match(await run('bucket', 'bind', 'pictures'), { code: 2, err: /--binding/ });

  const listed = await run('bucket', 'list');
  t.match(listed.out, /^name +jurisdiction +account +class +objects +octets +binding +created\n/);
  t.match(listed.out, /\npictures +default +.* Standard +0 +0 +MY_BUCKET +20/);
  t.match(listed.out, /\nrare +eu +.* InfrequentAccess +0 +0 +- +20/);
  t.match(JSON.parse((await run('bucket', 'list', '--json')).out), [
    { name: 'pictures', bindings: ['MY_BUCKET'], objects: 0, octets: 0 },
    { name: 'rare' },
  ]);
  t.match((await run('bucket', 'info', 'pictures')).out, /^name +pictures\n[\s\S]*\nbinding +MY_BUCKET\n/);
  t.match(await run('bucket', 'info', 'rare'), { code: 1, err: /bucket does not exist/ }, 'another jurisdiction');
  t.match(await run('bucket', 'info', 'rare', '--jurisdiction', 'eu'), { code: 0 });

  t.match(await run('bucket', 'bind', 'rare', '--jurisdiction', 'eu', '--binding', 'MY_BUCKET'), { code: 0 });
  t.match(
    JSON.parse((await run('bucket', 'list', '--json')).out),
    [{ bindings: [] }, { bindings: ['MY_BUCKET'] }],
    'a name is bound to one bucket',
  );
  t.match(await run('bucket', 'delete', 'rare', '--jurisdiction', 'eu'), {
    code: 0,
    out: 'deleted bucket rare (eu)\n',
    err: /^It was bound to MY_BUCKET: bind another/,
  });
  t.match(await run('bucket', 'delete', 'pictures'), { code: 0, out: 'deleted bucket pictures\n', err: '' });
  t.match(await run('bucket', 'delete', 'pictures'), { code: 1, err: /bucket does not exist/ });
});

t.test('secrets come by standard input and are not kept', async (t) => {
  t.match(await run('secret', 'list'), { code: 0, out: /^There are no secrets/ });
  const secret = 'correct horse battery staple';
  t.match(await pipe(`${secret}\n`, {}, 'secret', 'put', 'AUTH_KEY_SECRET'), {
    code: 0,
    out: 'set AUTH_KEY_SECRET; only its hash is kept\n',
    err: '',
  });
  for (const file of readdirSync(DATA)) {
    t.notOk(readFileSync(join(DATA, file)).includes(secret), `${file} does not hold the secret`);
  }
  const store = openStore(DATA, { readonly: true });
  t.equal(isAuthKeySecret(store, secret), true);
  for (const wrong of ['', `${secret}\n`, secret.slice(1), secret.toUpperCase()]) {
    t.equal(isAuthKeySecret(store, wrong), false, JSON.stringify(wrong));
  }
  store.close();
  t.match(await run('secret', 'list'), { code: 0, out: /^name +set\nAUTH_KEY_SECRET +20/ });

  t.match(await pipe('\n', {}, 'secret', 'put', 'AUTH_KEY_SECRET'), { code: 1, err: /The secret is empty/ });
  t.match(await pipe('new', { AUTH_KEY_SECRET: 'old' }, 'secret', 'put', 'AUTH_KEY_SECRET'), {
    code: 0,
    err: /AUTH_KEY_SECRET is also set in this environment/,
  });
  t.match(await pipe('x', {}, 'secret', 'put', 'OTHER'), { code: 1, err: /has no secret OTHER/ });
  t.match(await run('secret', 'delete', 'AUTH_KEY_SECRET'), { code: 0, out: 'deleted AUTH_KEY_SECRET\n' });
  t.match(await run('secret', 'delete', 'AUTH_KEY_SECRET'), { code: 1, err: /is not set/ });
});

t.test('each command has an example', async (t) => {
  for (const [group, names] of [
    ['bucket', ['create', 'list', 'info', 'delete', 'bind']],
    ['secret', ['put', 'list', 'delete']],
  ] as const) {
    for (const name of names) {
      t.match(await run(group, name, '--help'), { code: 0, out: /Example:\n {2}\$ / }, `${group} ${name}`);
    }
  }
});

t.test('rules of a bucket', async (t) => {
  await run('bucket', 'create', 'ruled');
  const file = join(directory, 'rules.json');
  const rules = [{ id: 'l', enabled: true, condition: { type: 'Indefinite' } }];
  writeFileSync(file, JSON.stringify({ rules }));
  t.strictSame(JSON.parse((await run('bucket', 'rules', 'ruled', 'lock')).out), { rules: [] });
  t.strictSame(JSON.parse((await run('bucket', 'rules', 'ruled', 'lock', '--set', file)).out), { rules });
  t.match(await run('bucket', 'rules', 'ruled', 'cors', '--set', file), { code: 2, err: /not valid at rules\.0/ });
  t.match(await run('bucket', 'rules', 'ruled', 'mime'), { code: 2, err: /Allowed choices are cors/ });
  t.match(await run('bucket', 'rules', 'none', 'lock'), { code: 1, err: /does not exist/ });
  t.strictSame(JSON.parse((await run('bucket', 'rules', 'ruled', 'lock', '--remove')).out), { rules: [] });
});
