-- What guesses ahead for a model that runs inside the runner.
alter table contestants add column draft text;
