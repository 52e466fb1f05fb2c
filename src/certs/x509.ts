/** The X.509 library, loaded after the reflection its container asks for; nothing else imports the package itself. */
import 'reflect-metadata';

export * from '@peculiar/x509';
