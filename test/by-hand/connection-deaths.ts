/**
 * Ten thousand connections that die: clients and origins that break off at random moments, at all listeners of the real program.
 * After each hundred, ordinary requests are answered; at the end the processes are the same, and descriptors and memory are back.
 * Prints what is wrong and exits with 1.
 *
 * `node build/test/by-hand/connection-deaths.js [CASES [SEED]]`; last run on 2026-11-25 with 10,000 cases and seed 77: the same
 * processes, all answered; two statuses of origins were logged as faults, which is mended.
 */
import { runDeaths } from '../support/deaths-run.js';

const [cases = '10000', seed = '1'] = process.argv.slice(2);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const faults = await runDeaths({ cases: Number(cases), seed: Number(seed), say });
for (const fault of faults) say(fault);
say(`${cases} cases with seed ${seed}: ${faults.length === 0 ? 'nothing found' : `${faults.length} faults`}`);
process.exit(faults.length === 0 ? 0 : 1);
