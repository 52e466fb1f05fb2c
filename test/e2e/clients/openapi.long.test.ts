/**
 * The OpenAPI document for people who generate clients from it: redocly finds nothing, openapi-typescript's client compiles and
 * works.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { ADMIN_HEADERS, install } from '../../api/installation.js';

const TOOLS = resolve('test/e2e/clients/openapi/node_modules');
const MISSING = 'the tools are not installed: npm ci --prefix test/e2e/clients/openapi';

/** What somebody writes with the generated types; the lines marked so must be refused by the compiler. */
const PROGRAM = `
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

const [, , baseUrl, token] = process.argv;
const client = createClient<paths>({ baseUrl: baseUrl!, headers: { authorization: \`Bearer \${token}\` } });

const made = await client.POST('/client/v4/zones', { body: { name: 'example.com' } });
if (!made.data) throw new Error(JSON.stringify(made.error));
const zone_id: string = made.data.result.id;
const record = await client.POST('/client/v4/zones/{zone_id}/dns_records', {
  params: { path: { zone_id }, query: { wait_limit: '1' } },
  body: { type: 'A', name: 'www', content: '192.0.2.1', ttl: 300 },
});
const created: components['schemas']['DnsRecord'] | undefined = record.data?.result;
const list = await client.GET('/client/v4/zones/{zone_id}/dns_records', { params: { path: { zone_id } } });
const names: string[] = (list.data?.result ?? []).map(({ name }) => name);
const refused = await client.POST('/client/v4/zones/{zone_id}/dns_records', {
  params: { path: { zone_id } },
  body: { type: 'A', name: 'www', content: 'x' },
});
const code: number | undefined = refused.error?.errors[0]?.code;
// @ts-expect-error: the path is another
await client.GET('/client/v4/zone', {}).catch(() => undefined);
// @ts-expect-error: the parameter is missing
const wrong = () => client.GET('/client/v4/zones/{zone_id}', {});
// @ts-expect-error: a number is not a name
const body: components['schemas']['ZoneCreation'] = { name: 7 };
console.log(JSON.stringify({ ttl: created?.ttl, names, code, unused: [typeof wrong, typeof body] }));
`;

const OPTIONS = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    module: 'nodenext',
    target: 'es2023',
    outDir: 'out',
    types: [],
  },
  files: ['client.mts', 'globals.d.ts'],
};

const run = promisify(execFile);

const installed = existsSync(TOOLS);
if (!installed && process.env['CI'] === 'true') t.fail(MISSING);
else t.test('the document in the hands of others', { skip: !installed && MISSING, timeout: 280_000 }, useDocument);

async function useDocument(t: Test): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-openapi-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const installation = await install(t);
  await installation.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = installation.app.server.address() as AddressInfo;
  const token = (await installation.token()).authorization.slice('Bearer '.length);
  const document = (await installation.app.inject({ url: '/openapi.json', headers: ADMIN_HEADERS })).body;
  writeFileSync(join(directory, 'openapi.json'), document);
  writeFileSync(join(directory, 'client.mts'), PROGRAM);
  writeFileSync(join(directory, 'globals.d.ts'), 'declare const process: { argv: string[] };\n');
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(OPTIONS));
  symlinkSync(TOOLS, join(directory, 'node_modules'));
  const environment = { PATH: process.env['PATH'], HOME: directory, REDOCLY_TELEMETRY: 'off' };
  const tool = async (name: string, ...args: readonly string[]): Promise<string> => {
    const options = { cwd: directory, env: { ...environment, REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } };
    const file = join(TOOLS, '.bin', name);
    return run(process.execPath, [file, ...args], options).then(
      ({ stdout }) => stdout,
      ({ stdout, stderr }) => `failed: ${stdout}${stderr}`,
    );
  };

  await t.test('redocly lint', async (t) => {
    const report = await tool('redocly', 'lint', 'openapi.json', '--format=json', '--max-problems=20');
    const { totals, problems } = JSON.parse(report.slice(report.indexOf('{')));
    t.match(totals, { errors: 0, warnings: 0 }, JSON.stringify(problems).slice(0, 2000));
  });

  await t.test('a client of openapi-typescript compiles and works', async (t) => {
    t.match(await tool('openapi-typescript', 'openapi.json', '-o', 'schema.d.ts'), /openapi\.json/);
    t.equal(await tool('tsc', '-p', 'tsconfig.json'), '');
    const { stdout } = await run(process.execPath, ['out/client.mjs', `http://127.0.0.1:${port}`, token], {
      cwd: directory,
      env: environment,
    });
    t.strictSame(JSON.parse(stdout), {
      ttl: 300,
      names: ['www.example.com'],
      code: 9005,
      unused: ['function', 'object'],
    });
  });
}
