/** `zoneplane redirect` in this process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Outcome, runCommand } from '../support/commands.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-cli-redirect-'));
const ENVIRONMENT = { ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };
t.teardown(() => rmSync(directory, { recursive: true }));

const run = (...args: readonly string[]): Promise<Outcome> => runCommand(ENVIRONMENT, ...args);

t.test('a redirect is made, listed, tried and deleted', async (t) => {
  t.equal((await run('zone', 'create', 'example.org', '--init')).code, 0);
  t.match(await run('redirect', 'list', 'example.org'), { code: 0, out: /There are no redirects/ });
  const add = (...args: readonly string[]) => run('redirect', 'add', 'example.org', ...args);
  t.match(await add('www.example.org/old/*', 'https://www.example.org/new/$1'), { code: 0, out: /^added redirect / });
  t.match(await add('example.org', 'https://www.example.org/', '--status', '302', '--name', 'apex'), { code: 0 });
  t.match(await add('a', 'javascript:x'), { code: 1, err: /begins|neither|target/ });
  t.match(await add('a', '/', '--status', '200'), { code: 1, err: /status_code must be one of 301/ });
  t.match(await run('redirect', 'try', 'http://www.example.org/old/a?b'), {
    code: 0,
    out: /→ 301 to https:\/\/www\.example\.org\/new\/a\?b\n {2}http_request_dynamic_redirect: www\.example\.org\/old\/\*/,
  });
  t.match(await run('redirect', 'try', 'https://example.org/'), {
    code: 0,
    out: /302 to https:\/\/www\.example\.org\/\n/,
  });
  t.match(await run('redirect', 'try', 'https://b.example.org/x'), {
    code: 0,
    out: /the origin gets \/x\n {2}no rule/,
  });
  t.match(await run('redirect', 'try', 'https://b.example.net/'), {
    code: 1,
    err: /there is no zone for b\.example\.net/,
  });
  const rules = JSON.parse((await run('redirect', 'list', 'example.org', '--json')).out);
  t.match(rules, [{ enabled: true }, { description: 'apex' }]);
  t.match(await run('redirect', 'list', 'example.org'), { code: 0, out: /302 to https:\/\/www\.example\.org\// });
  t.match(await run('redirect', 'delete', 'example.org', rules[0].id), { code: 0, out: /^deleted redirect/ });
  t.match(await run('redirect', 'delete', 'example.org', rules[0].id), { code: 1, err: /could not find rule/ });
  t.match(JSON.parse((await run('redirect', 'try', 'http://www.example.org/old/a', '--json')).out), {
    target: '/old/a',
  });
});
