/** `zoneplane serve`: all processes, or one of them in the foreground. Each loads only the code of its own role. */
import { InvalidArgumentError, Option } from 'commander';
import { SystemClock } from '../base/clock.js';
import { createLogger } from '../base/log.js';
import type { Role } from '../roles/process/ipc.js';
import type { Command, CommandContext } from './command.js';
import { addSettingOptions, loadCommandSettings } from './settings.js';

export function addServeCommand(program: Command, context: CommandContext): void {
  const { terminal, environment, isTerminal } = context;
  const serve = program
    .command('serve')
    .addOption(new Option('--role <role>', 'only one of the processes: dns, admin or edge').argParser(parseRole))
    .option('--take-over', 'take the place of the server that runs in the data directory, without a gap in DNS')
    .addOption(new Option('--supervised').hideHelp())
    .example('zoneplane serve', 'zoneplane serve --data-dir /var/lib/zoneplane --dns-host 192.0.2.53');
  addSettingOptions(serve).action(async (options: { role?: Role; supervised?: boolean; takeOver?: boolean }) => {
    if (options.role && options.supervised) {
      const { runSupervised } = await import('../roles/child.js');
      terminal.exitCode = (await runSupervised(options.role)) as 0 | 1 | 2;
      return;
    }
    const loaded = loadCommandSettings(serve, environment);
    const common = {
      loaded,
      load: () => loadCommandSettings(serve, environment),
      environment,
      program: context.program,
      version: context.version,
      clock: new SystemClock(),
      log: createLogger({ level: loaded.settings.logLevel, pretty: isTerminal }),
      terminal: isTerminal,
      print: terminal.print,
    };
    if (options.role) {
      const { runForeground } = await import('../roles/foreground.js');
      terminal.exitCode = (await runForeground(options.role, common)) as 0 | 1 | 2;
      return;
    }
    const { serve: superviseAll } = await import('../roles/supervisor.js');
    terminal.exitCode = (await superviseAll({
      ...common,
      takeOver: options.takeOver,
    })) as 0 | 1 | 2;
  });
}

function parseRole(text: string): Role {
  if (text === 'dns' || text === 'admin' || text === 'edge') return text;
  throw new InvalidArgumentError('The roles are dns, admin and edge.');
}
