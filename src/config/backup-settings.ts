/** Settings of backups that the server makes by itself. */
import { about } from './setting-about.js';
import { text, wholeNumber } from './values.js';

const group = 'Backups';

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** Milliseconds of a period such as `1d`. */
export function periodMs(period: string): number {
  return Number(period.slice(0, -1)) * UNITS_MS[period.at(-1) as keyof typeof UNITS_MS];
}

export const backupSettings = {
  backupDir: text().optional().register(about, {
    group,
    value: 'dir',
    summary: 'Directory, best on another disk, or s3://bucket/prefix, where the server keeps backups; it must exist',
    defaultText: 'none: no backups are made',
  }),
  backupEvery: text()
    .regex(/^[1-9]\d{0,3}[mhdw]$/, { error: 'expected a period, such as 30m, 12h, 1d or 1w' })
    .default('1d')
    .register(about, { group, value: 'period', summary: 'How often a backup is made' }),
  backupKeep: wholeNumber(1, 10_000, 'backups').default(7).register(about, {
    group,
    value: 'count',
    summary: 'How many of them are kept; an older one is removed only after a newer one was found to be whole',
  }),
};
