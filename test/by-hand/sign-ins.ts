/**
 * By hand: what a sign-in with a password takes, and whether its time tells known addresses from unknown ones.
 * `node build/test/by-hand/sign-ins.js [ATTEMPTS]`: Welch's t of so many attempts (2000), in a random order, and sign-ins in a second of
 * processor time. On a busy machine, repeat it: |t| < 3.
 */
import { performance } from 'node:perf_hooks';
import { createAccount } from '../../src/control/access/accounts.js';
import { setPasswordOf } from '../../src/sign-in/operator.js';
import { install } from '../api/installation.js';
import { ADA, browser, PASSWORD, signIn } from '../api/people.js';

const ATTEMPTS = Number(process.argv[2] ?? 2000);
const SIGN_INS = 200;

const endings: (() => Promise<void>)[] = [];
const world = await install({ after: (stop) => void endings.push(stop) }, { rateLimit: 1_000_000 });
// Nobody would wait for 2,000 attempts otherwise.
(world.signIn as { limits: unknown }).limits = { begin: () => ({ succeeded() {} }) };
await createAccount(world.operator, { name: 'Engines', members: [ADA] });
await setPasswordOf(world.operator, ADA, PASSWORD);

const times: { readonly known: number[]; readonly unknown: number[] } = { known: [], unknown: [] };
for (let n = 0; n < ATTEMPTS; n++) {
  const kind = Math.random() < 0.5 ? 'known' : 'unknown';
  const email = kind === 'known' ? ADA : `nobody-${n % 10}@example.com`;
  const begun = performance.now();
  const { status } = await signIn(browser(world), 'not the password', email);
  times[kind].push(performance.now() - begun);
  if (status !== 403) throw new Error(`${status}`);
}

function facts(values: readonly number[]): { n: number; mean: number; variance: number } {
  const n = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  return { n, mean, variance: values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1) };
}

const [known, unknown] = [facts(times.known), facts(times.unknown)];
const t = (known.mean - unknown.mean) / Math.sqrt(known.variance / known.n + unknown.variance / unknown.n);
const processor = process.cpuUsage();
const begun = performance.now();
const one = async (): Promise<void> => {
  for (let n = 0; n < SIGN_INS / 2; n++) {
    const { status } = await signIn(browser(world));
    if (status !== 200) throw new Error(`${status}`);
  }
};
await Promise.all([one(), one()]);
const { user, system } = process.cpuUsage(processor);
const seconds = (performance.now() - begun) / 1000;
const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1]!;
console.log({
  attempts: ATTEMPTS,
  t: Number(t.toFixed(2)),
  means: [known.mean, unknown.mean].map((mean) => Number(mean.toFixed(2))),
  medians: [median(times.known), median(times.unknown)].map((one) => Number(one.toFixed(2))),
  signInsInASecond: Math.round(SIGN_INS / seconds),
  signInsInASecondOfProcessorTime: Math.round((SIGN_INS * 1e6) / (user + system)),
});
for (const stop of endings) await stop();
