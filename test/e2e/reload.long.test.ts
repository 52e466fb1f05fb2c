/** SIGHUP: the running server takes new certificates and settings, all or nothing, and goes on serving. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import t from 'tap';
import { freePort } from '../support/free-ports.js';
import { startProgram } from '../support/program.js';
import { until } from '../support/until.js';

function makeCertificate(directory: string, name: string): { readonly certificate: string; readonly key: string } {
  const [certificate, key] = [join(directory, `${name}.pem`), join(directory, `${name}.key`)];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-subj', `/CN=${name}.zoneplane.test`, '-days', '2'];
  const made = spawnSync('openssl', ['req', '-x509', ...curve, ...subject, '-out', certificate, '-keyout', key]);
  if (made.status !== 0) throw new Error(`openssl: ${made.stderr}`);
  return { certificate: readFileSync(certificate, 'utf8'), key: readFileSync(key, 'utf8') };
}

t.test('certificates and settings', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-reload-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const [first, second] = [makeCertificate(directory, 'first'), makeCertificate(directory, 'second')];
  const [certFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const settings = join(directory, 'zoneplane.yaml');
  writeFileSync(certFile, first.certificate);
  writeFileSync(keyFile, first.key);
  writeFileSync(settings, 'log-level: info\n');
  const port = await freePort();
  const program = await startProgram({
    directory,
    environment: {
      ZONEPLANE_CONFIG: settings,
      ZONEPLANE_DOT_PORT: String(port),
      ZONEPLANE_TLS_CERT: certFile,
      ZONEPLANE_TLS_KEY: keyFile,
    },
  });
  const { child, api } = program;
  t.teardown(async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  const said = (text: string): number => program.printed().split(text).length - 1;
  const untilSaid = async (text: string, times: number): Promise<void> => {
    await until(() => said(text) >= times, text, program.printed);
    t.equal(said(text), times, text);
  };
  const servedName = async (): Promise<string> => {
    const probe = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(probe, 'secureConnect');
    const { subject } = probe.getPeerCertificate();
    probe.destroy();
    return String(subject.CN);
  };
  t.equal(await servedName(), 'first.zoneplane.test');

  writeFileSync(certFile, second.certificate);
  writeFileSync(settings, 'log-level: debug\n');
  child.kill('SIGHUP');
  await untilSaid('nothing was reloaded', 1);
  t.equal(await servedName(), 'first.zoneplane.test', 'a certificate without its key changes nothing');
  await fetch(`${api}/livez`);
  t.equal(said('"msg":"request"'), 0, 'neither do the settings beside it');

  writeFileSync(keyFile, second.key);
  writeFileSync(settings, 'log-level: debug\nrecords-per-zone: 5\n');
  child.kill('SIGHUP');
  await untilSaid('settings were reloaded', 1);
  t.match(
    program.printed(),
    /"logLevel":"debug","certificates":"read again","dnsReplacedFor":\[\],"needRestart":\["records-per-zone"\]/,
  );
  await until(async () => (await servedName()) === 'second.zoneplane.test', 'the second certificate');
  await until(async () => {
    await fetch(`${api}/livez`);
    return said('"msg":"request"') > 0;
  }, 'requests are logged from now on');

  writeFileSync(settings, 'log-level: loud\n');
  child.kill('SIGHUP');
  await untilSaid('nothing was reloaded', 2);
  t.equal(child.exitCode, null, 'it goes on');
  t.equal((await fetch(`${api}/livez`)).status, 200);
});
