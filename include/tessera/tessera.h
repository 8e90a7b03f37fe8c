// Everything public.
#pragma once

