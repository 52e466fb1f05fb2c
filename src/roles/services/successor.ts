/**
 * SIGUSR2: a running server starts the program anew, with its own arguments, which takes its place (take-over.ts). Under systemd the
 * service goes over to the new process, so that systemd restarts nothing when the old one ends.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';

const TAKE_OVER = '--take-over';

/** Returns what starts the successor; one at a time. `program`: the entry, which may be of another version by then. */
export function createSuccession(program: string, log: Logger): () => void {
  let isUnderWay = false;
  return () => {
    if (isUnderWay) return;
    isUnderWay = true;
    const own = process.argv.slice(2).filter((argument) => argument !== TAKE_OVER);
    const successor = spawn(process.execPath, [...process.execArgv, program, ...own, TAKE_OVER], { stdio: 'inherit' });
    log.info({ pid: successor.pid }, 'starting a successor, which asks this server to stop when it answers');
    const failed = (reason: string): void => {
      isUnderWay = false;
      log.error({ reason }, 'the successor did not start; this server goes on');
    };
    successor.once('error', (error) => failed(messageOf(error)));
    successor.once('exit', (code, signal) => failed(`it ended with ${signal ?? code}`));
    successor.unref();
  };
}

/** Tells systemd which process the service is from now on, if it is one (sd_notify(3): NotifyAccess=all). */
export async function tellMainProcess(pid: number, environment: NodeJS.ProcessEnv, log: Logger): Promise<void> {
  if (environment['NOTIFY_SOCKET'] === undefined) return;
  const remedy = 'Without it, systemd ends the service when the old server has stopped.';
  try {
    const notify = spawn('systemd-notify', [`MAINPID=${pid}`], { env: environment, stdio: 'inherit' });
    const [code] = (await once(notify, 'exit')) as [number | null];
    if (code !== 0) log.warn({ code, remedy }, 'systemd was not told of the new main process');
  } catch (error) {
    log.warn({ reason: messageOf(error), remedy }, 'systemd was not told of the new main process');
  }
}
