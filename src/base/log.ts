/** Structured log lines: JSON, or readable text when stdout is a terminal. Secrets are redacted by path. */
import { type DestinationStream, type Logger, pino } from 'pino';
import { PinoPretty as pretty } from 'pino-pretty';

export type { Logger } from 'pino';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** Members never printed, wherever a request or setting is logged. */
const SECRETS = [
  'key',
  'secret',
  'token',
  'authorization',
  'req.headers.authorization',
  'req.headers["x-auth-key"]',
  'req.headers["x-custom-auth-key"]',
  'headers.authorization',
  'headers["x-auth-key"]',
  'headers["x-custom-auth-key"]',
];

export interface LogOptions {
  readonly level: LogLevel;
  /** Readable lines instead of JSON. */
  readonly pretty: boolean;
  /** Where lines go; standard output by default. */
  readonly destination?: DestinationStream;
}

export function createLogger(options: LogOptions): Logger {
  const settings = {
    level: options.level,
    base: null,
    redact: { paths: SECRETS, censor: '[redacted]' },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (options.destination) return pino(settings, options.destination);
  if (options.pretty) return pino(settings, pretty({ sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss' }));
  return pino(settings);
}

/** A logger that says nothing. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
