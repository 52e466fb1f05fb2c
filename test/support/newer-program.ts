/** This program with further migrations, as a later version has. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Test } from 'tap';

/** Returns its file; it is removed with the test. */
export function makeNewerProgram(t: Test, ...versions: readonly number[]): string {
  const directory = mkdtempSync(resolve('build/newer-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  cpSync(resolve('build/src'), join(directory, 'build', 'src'), { recursive: true });
  symlinkSync(resolve('build/web'), join(directory, 'build', 'web'));
  const about = JSON.parse(readFileSync('package.json', 'utf8')) as object;
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ ...about, version: `99.0.${versions.at(-1)}` }));
  for (const version of versions) {
    const steps = `export default { canWait: true, sql: 'CREATE TABLE further_${version} (x)' };`;
    writeFileSync(join(directory, 'build', 'src', 'store', 'migrations', `0${version}-further.js`), steps);
  }
  return join(directory, 'build', 'src', 'main.js');
}
