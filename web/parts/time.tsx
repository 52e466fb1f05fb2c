/** Times in the zone of the reader; the exact time in UTC appears when they point at it. */
import { useEffect, useState } from 'preact/hooks';
import { once } from './once.js';

const full = once(() => new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }));
const relative = once(() => new Intl.RelativeTimeFormat('en', { numeric: 'auto' }));

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];
const DAYS_AGO = 7 * 86_400;

/** `3 minutes ago`; the date when that is more than a week away. */
function nearTime(iso: string, nowMs = Date.now()): string {
  const seconds = (Date.parse(iso) - nowMs) / 1000;
  if (Math.abs(seconds) > DAYS_AGO) return full().format(new Date(iso));
  const [unit, length] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1];
  if (unit === 'second') return seconds > 0 ? 'in a moment' : 'just now';
  return relative().format(Math.round(seconds / length), unit);
}

interface TimeProps {
  /** As the API writes it. */
  readonly at: string;
  /** The whole date instead of the distance. */
  readonly exact?: boolean;
}

/** Times that are on the screen as a distance; all are drawn again when they may have changed. */
const shown = new Set<() => void>();
const REDRAW_MS = 30_000;

setInterval(() => {
  if (document.visibilityState !== 'visible') return;
  for (const redraw of shown) redraw();
}, REDRAW_MS);

export function Time({ at, exact = false }: TimeProps) {
  const [, redraw] = useState(0);
  useEffect(() => {
    if (exact) return;
    const run = (): void => redraw((n) => n + 1);
    shown.add(run);
    return () => void shown.delete(run);
  }, [exact]);
  return (
    <time dateTime={at} title={at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')}>
      {exact ? full().format(new Date(at)) : nearTime(at)}
    </time>
  );
}
