/** Structured log lines: JSON, or readable text when stdout is a terminal. Secrets are redacted by their paths. */
import { createRequire } from 'node:module';
import type { DestinationStream, Logger } from 'pino';

export type { Logger } from 'pino';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** Packages are loaded where they are used, so that commands start at once. */
const load = createRequire(import.meta.url);

/** Members that are never printed, wherever a request or setting is logged. */
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
  /** Destination of the lines; the default is standard output. */
  readonly destination?: DestinationStream;
}

export function createLogger(options: LogOptions): Logger {
  const { pino } = load('pino') as typeof import('pino');
  const settings = {
    level: options.level,
    base: null,
    redact: { paths: SECRETS, censor: '[redacted]' },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (options.destination) return pino(settings, options.destination);
  const destination = pino.destination({ dest: 1, sync: true });
  // The terminal has closed, or the disk of the log is full: the server goes on without its lines.
  destination.on('error', () => {});
  if (options.pretty) {
    const { PinoPretty: pretty } = load('pino-pretty') as typeof import('pino-pretty');
    return pino(settings, pretty({ destination, ignore: 'pid,hostname', translateTime: 'HH:MM:ss' }));
  }
  return pino(settings, destination);
}

/** A logger that writes nothing, for commands and tests. */
export function silentLogger(): Logger {
  return SILENT;
}

function writeNothing(): void {}

const SILENT = {
  level: 'silent',
  trace: writeNothing,
  debug: writeNothing,
  info: writeNothing,
  warn: writeNothing,
  error: writeNothing,
  fatal: writeNothing,
  silent: writeNothing,
  isLevelEnabled: () => false,
  child: () => SILENT,
} as unknown as Logger;
